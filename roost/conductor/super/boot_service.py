"""Leases build requests, asks the scheduler for hosts, and places the instances.

Before: ``api/servers/create.py`` stored BuildRequests and cast here; or the sweeper found some
whose message or worker was lost. After: the steps of ``boot.py``, for each instance.

Requests that wait together (``boot_queue.py``) are leased together, and the scheduler is asked once
for all instances of all of them. An unavailable cell gets no boots. When
a cell becomes unavailable before anything can have been created there, its build requests are
placed elsewhere at once. Those that fit nowhere else wait for such cells for a while, before they
end in ERROR.

The scheduler gives an instance the same host again only while its claim lasts. So the target cell
is written into the build request before anything is created there, and a worker that takes it up
again asks that cell first: an instance found there is adopted (``ADOPT``), and while the cell does
not answer the build request waits.
"""

import collections
import dataclasses
import datetime
import logging
import uuid as uuids
from collections.abc import Mapping, Sequence

from roost import exception
from roost.cells import Cells
from roost.cells.security_groups import GroupCopies
from roost.clock import boot_clock
from roost.conductor.failures import PlacementFailure
from roost.conductor.placement_query import ApiPlacementQuery
from roost.conductor.super.boot import (
    ADOPT,
    PLACE,
    RECORD,
    BootGroup,
    BootLease,
    BootTask,
    Cell0Record,
    LeasedRequest,
    PlacedInstance,
    carry_out,
    carry_out_together,
)
from roost.context import RequestContext
from roost.db.api import build_requests
from roost.db.cell import instances
from roost.db.engine import Database, retried
from roost.db.types import utcnow
from roost.objects import BuildRequest, InstanceActionEvent, Selection
from roost.objects.mapping import CELL0_UUID
from roost.rpc.notifications import Notifier
from roost.scheduler.client import SchedulerClient

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class BootOrder:
    """An accepted request, with those of its instances that are to be placed now.

    :param context: that of its user
    """

    context: RequestContext
    request_uuid: str
    instance_uuids: Sequence[str]


@dataclasses.dataclass(frozen=True)
class BootService:
    """Places build requests.

    :param alternates: number of further hosts of the same cell for reschedules
    :param lease_seconds: time until another worker may take up a leased build request
    :param groups: copies security groups to the cells of new servers; None: no host filters
    :param boot_patience: seconds that a build request which fits nowhere else waits for
        unavailable cells
    """

    host: str
    database: Database
    cells: Cells
    scheduler: SchedulerClient
    notifier: Notifier
    alternates: int
    lease_seconds: float
    boot_patience: float = 60.0
    groups: GroupCopies | None = None

    def build(self, *orders: BootOrder, again: bool = False) -> None:
        """Place those build requests that no other worker has leased.

        :param orders: of different requests
        :param again: they have waited: any cell may have them
        """
        begun = utcnow()
        lease = BootLease(
            host=self.host,
            database=self.database,
            cells=self.cells,
            scheduler=self.scheduler,
            groups=self.groups,
            task_seconds=self.lease_seconds,
            owner=f"{self.host}:{uuids.uuid4().hex[:12]}"[-64:],
            until=boot_clock() + self.lease_seconds,
            down={cell.uuid for cell in self.cells.unavailable() if not cell.mapping.disabled},
        )
        try:
            pending = [
                dataclasses.replace(request, build_requests=fresh)
                for request in self._lease(lease, orders)
                if (fresh := self._fresh(lease, request, again=again))
            ]
            while pending:
                pending = self._place_all(lease, pending, begun)
        except exception.Unavailable:
            self.database.write(build_requests.hand_back, lease.owner)
            raise

    @retried
    def _lease(self, lease: BootLease, orders: Sequence[BootOrder]) -> list[LeasedRequest]:
        now = self.database.now()
        wanted = {order.request_uuid: order for order in orders}
        with self.database.begin() as session:
            leased = build_requests.lease(
                session,
                owner=lease.owner,
                now=now,
                seconds=self.lease_seconds,
                instance_uuids=[uuid for order in orders for uuid in order.instance_uuids],
            )
            named = dict.fromkeys(each.request_uuid for each in leased)
            specs = build_requests.get_specs(session, [*named]) if named else {}
        for request_uuid in named.keys() - specs.keys():
            LOG.error("request %s has no request spec: delete its servers", request_uuid)
        return [
            LeasedRequest(
                wanted[request_uuid].context,
                specs[request_uuid],
                [each for each in leased if each.request_uuid == request_uuid],
            )
            for request_uuid in named
            if request_uuid in specs
        ]

    def _fresh(
        self, lease: BootLease, request: LeasedRequest, *, again: bool
    ) -> list[BuildRequest]:
        """Return what no cell has, or may have, by an earlier try; adopt what one has."""
        return [
            each for each in request.build_requests if not self._was_begun(lease, each, again=again)
        ]

    def _was_begun(self, lease: BootLease, build_request: BuildRequest, *, again: bool) -> bool:
        cells = dict.fromkeys([build_request.cell_uuid] if build_request.cell_uuid else [])
        if again:
            cells |= dict.fromkeys(cell.uuid for cell in self.cells.all() if cell.is_readable)
        return any(self._was_begun_in(lease, build_request, cell_uuid) for cell_uuid in cells)

    def _was_begun_in(self, lease: BootLease, build_request: BuildRequest, cell_uuid: str) -> bool:
        task = BootTask(build_request, [], aimed=True)
        group: BootGroup[BootTask] = BootGroup(lease, [task])
        try:
            group.cell = self.cells.get(cell_uuid)
            with group.cell.database.read() as session:
                found = instances.find(session, task.uuid, deleted=True)
        except exception.NotFound:  # that cell was deleted
            return False
        except exception.RoostError as error:
            LOG.warning(
                "[instance: %s] waits for the cell that may have it: %s", task.uuid, error.message
            )
            return True
        if found is not None:
            carry_out(ADOPT, group)
        return found is not None

    def _place_all(
        self, lease: BootLease, pending: Sequence[LeasedRequest], begun: datetime.datetime
    ) -> list[LeasedRequest]:
        """Place requests; return what is to be placed again, as its cell is unavailable."""
        leased = lease.event("super-conductor.lease", begun)
        tasks: list[PlacedInstance] = []
        failed: list[tuple[LeasedRequest, InstanceActionEvent, exception.NoValidHost]] = []
        asked = utcnow()
        for request, chosen in zip(pending, self._ask(lease, pending), strict=True):
            if isinstance(chosen, exception.NoValidHost):
                refusal = lease.event("scheduler.select_destinations", asked, chosen.message)
                failed.append((request, refusal, chosen))
                continue
            selected = lease.event("scheduler.select_destinations", asked)
            tasks += [
                PlacedInstance(each, [leased, selected], request=request, selections=selections)
                for each, selections in zip(request.build_requests, chosen, strict=True)
            ]
        refused = self._place_on(lease, tasks)
        for request, refusal, error in failed:
            if not self._wait_for_cells(lease, request):
                why = PlacementFailure.refused(error)
                self._record_failures(lease, request, [leased, refusal], why)
        return [
            dataclasses.replace(request, build_requests=left)
            for request in pending
            if (left := [task.build_request for task in refused if task.request is request])
        ]

    def _ask(
        self, lease: BootLease, pending: Sequence[LeasedRequest]
    ) -> list[list[list[Selection]] | exception.NoValidHost]:
        """Ask the scheduler once; for those that get no hosts each by itself, which says why."""
        ignored = sorted({cell.uuid for cell in self.cells.closed()} | lease.down)
        for request in pending:
            request.spec.ignore_cells = ignored
        query = ApiPlacementQuery(self.scheduler, self.notifier)
        chosen: list[list[list[Selection]] | None] = [None]
        if len(pending) > 1:
            asked = [(each.context, each.spec, each.instance_uuids) for each in pending]
            chosen = query.select_for_requests(asked, alternates=self.alternates)
        return [
            self._ask_alone(query, request) if answer is None else answer
            for request, answer in zip(pending, chosen, strict=True)
        ]

    def _ask_alone(
        self, query: ApiPlacementQuery, request: LeasedRequest
    ) -> list[list[Selection]] | exception.NoValidHost:
        try:
            return query.select(
                request.context,
                request_spec=request.spec,
                instance_uuids=request.instance_uuids,
                alternates=self.alternates,
            )
        except exception.NoValidHost as error:
            return error

    def _place_on(self, lease: BootLease, tasks: Sequence[PlacedInstance]) -> list[PlacedInstance]:
        """Place instances on the chosen hosts; return those to be placed again."""
        aimed = self._set_target_cells(lease, {task.uuid: task.chosen.cell_uuid for task in tasks})
        by_cell: dict[str | None, list[PlacedInstance]] = collections.defaultdict(list)
        for task in tasks:
            task.aimed = task.uuid in aimed
            by_cell[task.chosen.cell_uuid if task.aimed else None].append(task)
        refused = []
        for cell_uuid, some in by_cell.items():
            together = cell_uuid is not None and len(some) > 1
            if not (together and carry_out_together(BootGroup(lease, some))):
                refused += [task for task in some if not _place(lease, task)]
        if refused:
            lease.down.update(task.chosen.cell_uuid for task in refused)
            self._set_target_cells(lease, {task.uuid: None for task in refused})
        return refused

    def _wait_for_cells(self, lease: BootLease, request: LeasedRequest) -> bool:
        """Leave a request to the sweeper while an unavailable cell may have room for it."""
        age = self.database.now() - min(each.created_at for each in request.build_requests)
        if not lease.down or age.total_seconds() > self.boot_patience:
            return False
        LOG.info("request %s: waits for unavailable cells", request.spec.request_uuid)
        self.database.write(build_requests.hand_back, lease.owner, request.instance_uuids)
        return True

    def _record_failures(
        self,
        lease: BootLease,
        request: LeasedRequest,
        events: Sequence[InstanceActionEvent],
        why: PlacementFailure,
    ) -> None:
        aimed = self._set_target_cells(lease, dict.fromkeys(request.instance_uuids, CELL0_UUID))
        for each in request.build_requests:
            task = Cell0Record(each, list(events), aimed=each.instance_uuid in aimed, why=why)
            carry_out(RECORD, BootGroup(lease, [task]))

    def _set_target_cells(self, lease: BootLease, cells: Mapping[str, str | None]) -> set[str]:
        """Record the target cell of each build request; return those whose lease is still ours.

        :param cells: cell uuids by instance; None: no target cell, and no cell can have it
        """
        if not cells:
            return set()
        return self.database.write(build_requests.target_cell, cells, owner=lease.owner)


def _place(lease: BootLease, task: PlacedInstance) -> bool:
    """Place one instance; return False when its cell is unavailable and has nothing of it.

    One that the scheduler sent to such a cell again, by its old claim, waits for its lease.
    """
    failure = carry_out(PLACE, BootGroup(lease, [task]))
    again = task.chosen.cell_uuid in lease.down
    return task.created or again or not isinstance(failure, exception.Unavailable)
