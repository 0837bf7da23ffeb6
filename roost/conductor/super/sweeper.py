"""The super-conductor's sweeper: takes up abandoned build requests and deletes.

It relies on the rows alone, since messages may be lost. The cell-conductor's sweeper is
``conductor/cell/sweeper.py``.
"""

import collections
import dataclasses
import datetime
import itertools
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from roost import exception
from roost.cells import Cells
from roost.conductor.super.boot_service import BootOrder, BootService
from roost.conductor.super.resizes import Resizes
from roost.conductor.super.soft_delete import SoftDeletes
from roost.context import RequestContext, current, project_context
from roost.db import clock
from roost.db.api import build_requests, console_tokens, instance_mappings
from roost.db.cell import instances
from roost.db.engine import Database
from roost.objects import BuildRequest, InstanceMapping

LOG = logging.getLogger(__name__)
_TOGETHER: Final = 100  # mappings that one transaction deletes
_TOKENS: Final = 1000  # console tokens that one sweep deletes at most


@dataclasses.dataclass(frozen=True)
class SuperSweeper:
    """Takes up build requests whose message or worker was lost, and deletes that did not arrive.

    :param patience: seconds that a new build request waits for its message
    :param soft_deletes: handles soft-deleted servers
    :param resizes: settles the quota of resizes
    :param missed: times since which deletes wait for instances that their cells do not have
    """

    database: Database
    cells: Cells
    boots: BootService
    patience: float
    soft_deletes: SoftDeletes
    resizes: Resizes
    missed: dict[str, float] = dataclasses.field(default_factory=dict)

    def sweep(self) -> None:
        self.take_up_requests()
        self.soft_deletes.settle(but_not=self._unreadable())
        self.soft_deletes.reclaim()
        self.resizes.settle(but_not=self._unreadable())
        self.forget_tokens()
        self.finish_deletes()

    def forget_tokens(self) -> None:
        """Delete expired console tokens, a limited number at a time."""
        with self.database.read() as session:
            now = clock.now(session)
            digests = console_tokens.expired(session, now=now, limit=_TOKENS)
        if digests:
            self.database.write(console_tokens.forget, digests)

    def take_up_requests(self) -> None:
        """Build waiting requests, except those that an unavailable cell may have already."""
        unreadable = self._unreadable()
        with self.database.read() as session:
            waiting = build_requests.list_waiting(
                session,
                older_than=datetime.timedelta(seconds=self.patience),
                but_not_for=unreadable,
            )
        for request_uuid, found in itertools.groupby(
            waiting, lambda build_request: build_request.request_uuid
        ):
            self._take_up(request_uuid, list(found))

    def _take_up(self, request_uuid: str, found: Sequence[BuildRequest]) -> None:
        uuids = [build_request.instance_uuid for build_request in found]
        context = _context_of(found[0])
        with current(context):
            LOG.info("request %s: %d instances wait for a worker", request_uuid, len(found))
            try:
                self.boots.build(BootOrder(context, request_uuid, uuids), again=True)
            except exception.RoostError as error:
                LOG.warning("request %s: postponed: %s", request_uuid, error.message)
            except Exception:
                LOG.exception("request %s: postponed", request_uuid)

    def finish_deletes(self) -> None:
        """Delete the mappings of deleted instances; send deletes of the others to cells again.

        Deletes for unavailable cells stay queued.
        """
        unreadable, marker, queued = self._unreadable(), 0, set()
        while True:
            with self.database.read() as session:
                page = instance_mappings.list_queued(session, marker=marker, but_not_in=unreadable)
            if not page:
                break
            marker = page[-1][0]
            queued |= {mapping.instance_uuid for _, mapping in page}
            for cell_uuid, mappings in _by_cell(mapping for _, mapping in page).items():
                self._finish_in_cell(cell_uuid, {m.instance_uuid: m for m in mappings})
        for uuid in self.missed.keys() - queued:
            del self.missed[uuid]

    def _unreadable(self) -> list[str]:
        return [cell.uuid for cell in self.cells.all() if not cell.is_readable]

    def _finish_in_cell(self, cell_uuid: str, queued: Mapping[str, InstanceMapping]) -> None:
        """Delete a cell's queued instances, each in the name of its project."""
        try:
            cell = self.cells.get(cell_uuid)
            with cell.database.read() as session:
                known = instances.list_known(session, [*queued])
                alive = instances.ending_states(session, [*queued])
            for uuid, is_ending in alive.items():
                if not is_ending:
                    cell.end_instance(project_context(str(queued[uuid].project_id)), uuid)
            dead = [
                mapping
                for uuid, mapping in queued.items()
                if uuid not in alive and (uuid in known or self._never_comes(uuid))
            ]
            for start in range(0, len(dead), _TOGETHER):
                self._forget(dead[start : start + _TOGETHER])
        except exception.RoostError as error:
            LOG.warning("cell %s: deletes wait: %s", cell_uuid, error.message)

    def _forget(self, dead: Sequence[InstanceMapping]) -> None:
        try:
            self.database.write(instance_mappings.forget_queued, dead)
        except exception.Conflict:  # another sweep, or a try that was committed, has deleted some
            for mapping in dead:
                self.database.write(instance_mappings.forget, mapping.instance_uuid)

    def _never_comes(self, instance_uuid: str) -> bool:
        """Return whether no worker can still create an instance that its cell does not have.

        It was a build request when its user deleted it, and a worker may have been placing it: for
        at most the time of a lease, and as long again for a commit under way.
        """
        since = self.missed.setdefault(instance_uuid, time.monotonic())
        return time.monotonic() - since > 2 * self.boots.lease_seconds


def _by_cell(mappings: Iterable[InstanceMapping]) -> dict[str, list[InstanceMapping]]:
    found = collections.defaultdict(list)
    for mapping in mappings:
        if mapping.cell_uuid is not None:
            found[mapping.cell_uuid].append(mapping)
    return found


def _context_of(build_request: BuildRequest) -> RequestContext:
    return project_context(
        str(build_request.project_id),
        user_id=build_request.user_id,
        request_id=build_request.request_id,
    )
