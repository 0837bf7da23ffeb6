"""Leases build requests, asks the scheduler for hosts, and places the instances.

Before: ``api/servers/create.py`` stored BuildRequests and cast here; or the sweeper found some
whose message or worker was lost. After: the steps of ``boot.py``, for each instance.

The scheduler is asked once for all instances of a request. An unavailable cell gets no boots. When
a cell becomes unavailable before anything can have been created there, its build requests are
placed elsewhere at once. Those that fit nowhere else wait for such cells for a while, before they
end in ERROR.

The scheduler gives an instance the same host again only while its claim lasts. So the target cell
is written into the build request before anything is created there, and a worker that takes it up
again asks that cell first: an instance found there is adopted (``ADOPT``), and while the cell does
not answer the build request waits.
"""

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
from roost.conductor.placement_query import PlacementQuery
from roost.conductor.super.boot import (
    ADOPT,
    PLACE,
    RECORD,
    BootTask,
    Cell0Record,
    LeasedRequest,
    PlacedInstance,
    carry_out,
)
from roost.context import RequestContext
from roost.db.api import build_requests
from roost.db.cell import instances
from roost.db.engine import Database, retried
from roost.db.types import utcnow
from roost.objects import BuildRequest, InstanceActionEvent, RequestSpec, Selection
from roost.objects.mapping import CELL0_UUID
from roost.rpc.notifications import Notifier
from roost.scheduler.client import SchedulerClient

LOG = logging.getLogger(__name__)


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

    def build(
        self,
        context: RequestContext,
        request_uuid: str,
        instance_uuids: Sequence[str],
        *,
        again: bool = False,
    ) -> None:
        """Place those build requests of a request that no other worker has leased.

        :param again: they have waited: any cell may have them
        """
        begun, until = utcnow(), boot_clock() + self.lease_seconds
        owner = f"{self.host}:{uuids.uuid4().hex[:12]}"[-64:]
        leased, spec = self._lease(request_uuid, instance_uuids, owner=owner)
        if spec is None:
            return
        work = LeasedRequest(
            host=self.host,
            database=self.database,
            cells=self.cells,
            scheduler=self.scheduler,
            groups=self.groups,
            context=context,
            spec=spec,
            owner=owner,
            until=until,
            down={cell.uuid for cell in self.cells.unavailable() if not cell.mapping.disabled},
        )
        try:
            fresh = [one for one in leased if not self._was_begun(work, one, again=again)]
            while fresh:
                fresh = self._place_all(work, fresh, begun)
        except exception.Unavailable:
            self.database.write(build_requests.hand_back, owner)
            raise

    @retried
    def _lease(
        self, request_uuid: str, instance_uuids: Sequence[str], *, owner: str
    ) -> tuple[list[BuildRequest], RequestSpec | None]:
        now = self.database.now()
        with self.database.begin() as session:
            leased = build_requests.lease(
                session,
                owner=owner,
                now=now,
                seconds=self.lease_seconds,
                instance_uuids=instance_uuids,
            )
            return leased, build_requests.get_spec(session, request_uuid) if leased else None

    def _was_begun(self, work: LeasedRequest, build_request: BuildRequest, *, again: bool) -> bool:
        """Return whether a cell has, or may have, the instance by an earlier try; adopt it then."""
        cells = dict.fromkeys([build_request.cell_uuid] if build_request.cell_uuid else [])
        if again:
            cells |= dict.fromkeys(cell.uuid for cell in self.cells.all() if cell.is_readable)
        return any(self._was_begun_in(work, build_request, cell_uuid) for cell_uuid in cells)

    def _was_begun_in(
        self, work: LeasedRequest, build_request: BuildRequest, cell_uuid: str
    ) -> bool:
        task = BootTask(work, build_request, [], aimed=True)
        try:
            task.cell = self.cells.get(cell_uuid)
            with task.cell.database.read() as session:
                found = instances.find(session, task.uuid, deleted=True)
        except exception.NotFound:  # that cell was deleted
            return False
        except exception.RoostError as error:
            LOG.warning(
                "[instance: %s] waits for the cell that may have it: %s", task.uuid, error.message
            )
            return True
        if found is not None:
            carry_out(ADOPT, task)
        return found is not None

    def _place_all(
        self, work: LeasedRequest, pending: Sequence[BuildRequest], begun: datetime.datetime
    ) -> list[BuildRequest]:
        """Place build requests; return those to be placed again, as their cell is unavailable."""
        work.spec.ignore_cells = sorted({cell.uuid for cell in self.cells.closed()} | work.down)
        events, asked = [work.event("super-conductor.lease", begun)], utcnow()
        try:
            chosen = PlacementQuery(self.scheduler, self.notifier).select(
                work.context,
                request_spec=work.spec,
                instance_uuids=[build_request.instance_uuid for build_request in pending],
                alternates=self.alternates,
            )
        except exception.NoValidHost as error:
            events.append(work.event("scheduler.select_destinations", asked, error.message))
            if not self._wait_for_cells(work, pending):
                self._record_failures(work, pending, events, PlacementFailure.refused(error))
            return []
        events.append(work.event("scheduler.select_destinations", asked))
        return self._place_on(work, pending, chosen, events)

    def _place_on(
        self,
        work: LeasedRequest,
        pending: Sequence[BuildRequest],
        chosen: Sequence[Sequence[Selection]],
        events: Sequence[InstanceActionEvent],
    ) -> list[BuildRequest]:
        """Place build requests on the chosen hosts; return those to be placed again."""
        pairs = list(zip(pending, chosen, strict=True))
        aimed = self._set_target_cells(
            work, {one.instance_uuid: selections[0].cell_uuid for one, selections in pairs}
        )
        tasks = [
            PlacedInstance(
                work,
                one,
                list(events),
                aimed=one.instance_uuid in aimed,
                selections=selections,
            )
            for one, selections in pairs
        ]
        refused = [task for task in tasks if not _place(task)]
        if not refused:
            return []
        work.down.update(task.chosen.cell_uuid for task in refused)
        self._set_target_cells(work, {task.uuid: None for task in refused})
        return [task.build_request for task in refused]

    def _wait_for_cells(self, work: LeasedRequest, pending: Sequence[BuildRequest]) -> bool:
        """Leave build requests to the sweeper while an unavailable cell may have room for them."""
        age = self.database.now() - min(build_request.created_at for build_request in pending)
        if not work.down or age.total_seconds() > self.boot_patience:
            return False
        LOG.info("request %s: waits for unavailable cells", work.spec.request_uuid)
        self.database.write(build_requests.hand_back, work.owner)
        return True

    def _record_failures(
        self,
        work: LeasedRequest,
        failed: Sequence[BuildRequest],
        events: Sequence[InstanceActionEvent],
        why: PlacementFailure,
    ) -> None:
        aimed = self._set_target_cells(
            work, {build_request.instance_uuid: CELL0_UUID for build_request in failed}
        )
        for build_request in failed:
            ours = build_request.instance_uuid in aimed
            carry_out(RECORD, Cell0Record(work, build_request, list(events), aimed=ours, why=why))

    def _set_target_cells(self, work: LeasedRequest, cells: Mapping[str, str | None]) -> set[str]:
        """Record the target cell of each build request; return those whose lease is still ours.

        :param cells: cell uuids by instance; None: no target cell, and no cell can have it
        """
        return self.database.write(build_requests.target_cell, cells, owner=work.owner)


def _place(task: PlacedInstance) -> bool:
    """Place one build request; return False when its cell is unavailable and has nothing of it.

    One that the scheduler sent to such a cell again, by its old claim, waits for its lease.
    """
    failure = carry_out(PLACE, task)
    again = task.chosen.cell_uuid in task.work.down
    return task.created or again or not isinstance(failure, exception.Unavailable)
