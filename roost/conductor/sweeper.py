"""What nobody works on is taken up again: rows are the truth, messages only hints."""

import collections
import contextlib
import dataclasses
import datetime
import itertools
import logging
from collections.abc import Iterable, Iterator, Sequence

from roost import exception
from roost.cells import Cells
from roost.conductor.boot import Boots
from roost.conductor.reschedule import Rescheduling
from roost.context import RequestContext, admin_context
from roost.db.api import build_requests, instance_mappings
from roost.db.cell import builds, instances
from roost.db.engine import Database
from roost.objects import BuildRequest, Instance, InstanceMapping
from roost.rpc.compute import Compute

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class SuperSweeper:
    """Takes up wishes whose hint was lost or whose worker died, and deletes that did not arrive.

    :param patience: seconds that a new wish is left to the message that announces it
    """

    database: Database
    cells: Cells
    boots: Boots
    patience: float

    def sweep(self) -> None:
        self.take_up_wishes()
        self.finish_deletes()

    def take_up_wishes(self) -> None:
        with self.database.read() as session:
            waiting = build_requests.list_waiting(
                session, older_than=datetime.timedelta(seconds=self.patience)
            )
        for request_uuid, wishes in itertools.groupby(waiting, lambda wish: wish.request_uuid):
            self._take_up(request_uuid, list(wishes))

    def _take_up(self, request_uuid: str, wishes: Sequence[BuildRequest]) -> None:
        LOG.info("request %s: %d instances wait for a worker", request_uuid, len(wishes))
        try:
            self.boots.build(
                _context_of(wishes[0]), request_uuid, [wish.instance_uuid for wish in wishes]
            )
        except exception.RoostError as error:
            LOG.warning("request %s: not now: %s", request_uuid, error.message)
        except Exception:
            LOG.exception("request %s: not now", request_uuid)

    def finish_deletes(self) -> None:
        """Forget the mappings of buried instances; remind the cells of those that still live."""
        marker = 0
        while True:
            with self.database.read() as session:
                page = instance_mappings.list_queued(session, marker=marker)
            if not page:
                return
            marker = page[-1][0]
            for cell_uuid, mappings in _by_cell(mapping for _, mapping in page).items():
                self._finish_in_cell(cell_uuid, mappings)

    def _finish_in_cell(self, cell_uuid: str, mappings: Sequence[InstanceMapping]) -> None:
        try:
            cell = self.cells.get(cell_uuid)
            with cell.database.read() as session:
                alive = instances.ending_states(session, [m.instance_uuid for m in mappings])
            for uuid, is_ending in alive.items():
                if not is_ending:
                    cell.end_instance(admin_context(), uuid)
            self._forget([m.instance_uuid for m in mappings if m.instance_uuid not in alive])
        except exception.RoostError as error:
            LOG.warning("cell %s: deletes wait: %s", cell_uuid, error.message)

    def _forget(self, instance_uuids: Iterable[str]) -> None:
        for uuid in instance_uuids:
            with self.database.begin() as session:
                instance_mappings.forget(session, uuid)


@dataclasses.dataclass(frozen=True)
class CellSweeper:
    """Tells hosts again of builds and deletes that they have not taken up.

    A build that has failed on its host and has not got to the next one goes on from there.

    :param lease_seconds: how long a host may take to answer a hint
    """

    database: Database
    compute: Compute
    rescheduling: Rescheduling
    lease_seconds: float

    def sweep(self) -> None:
        self.tell_builds()
        self.tell_deletes()

    def tell_builds(self) -> None:
        with self.database.begin() as session:
            waiting = builds.lease_unbegun(session, seconds=self.lease_seconds)
            found = [instances.find(session, build.instance_uuid) for build in waiting]
        for build, instance in zip(waiting, found, strict=True):
            if instance is not None:
                with _logged(build.instance_uuid):
                    self._go_on(build, instance)

    def tell_deletes(self) -> None:
        with self.database.begin() as session:
            waiting = instances.lease_ending(session, seconds=self.lease_seconds)
        for uuid, host in waiting:
            LOG.info("%s: telling %s again to end it", uuid, host)
            with _logged(uuid):
                self.compute.on(host).terminate_instance(admin_context(), instance_uuid=uuid)

    def _go_on(self, build: builds.BuildRow, instance: Instance) -> None:
        if build.has_failed_on(build.host):
            self.rescheduling.go_on(admin_context(), build)
            return
        LOG.info("%s: telling %s again to build it", build.instance_uuid, build.host)
        self.compute.on(build.host).build_and_run_instance(
            admin_context(), instance=instance, request_spec=build.spec
        )


@contextlib.contextmanager
def _logged(instance_uuid: str) -> Iterator[None]:
    """What cannot be done for one instance must not keep the others waiting."""
    try:
        yield
    except exception.RoostError as error:
        LOG.warning("%s: not now: %s", instance_uuid, error.message)
    except Exception:
        LOG.exception("%s: not now", instance_uuid)


def _by_cell(mappings: Iterable[InstanceMapping]) -> dict[str, list[InstanceMapping]]:
    found = collections.defaultdict(list)
    for mapping in mappings:
        if mapping.cell_uuid is not None:
            found[mapping.cell_uuid].append(mapping)
    return found


def _context_of(wish: BuildRequest) -> RequestContext:
    return RequestContext(
        user_id=wish.user_id,
        project_id=wish.project_id,
        request_id=wish.request_id,
        is_admin=False,
        overwrite=False,
    )
