"""Boots servers: places the instances of an accepted request and sends them to their hosts.

Before: ``api/servers/create.py`` stored BuildRequests and cast here. After: ``compute/build.py`` on
each host, by cast; or cell0, for instances that no host can take.

The scheduler is asked once for all instances of a request; then each is placed by the steps of
``PLACE``. When that fails, the build request stays: its lease expires, and the sweeper brings it
here again. A worker may outlive its lease, or not learn that its commit succeeded; so only the
owner of the lease fulfils a build request, and no worker undoes what another continues.

An unavailable cell gets no boots. When a cell becomes unavailable before anything can have been
created there, its build requests are placed elsewhere at once. Those that fit nowhere else wait for
such cells for a while, before they end in ERROR.

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
from typing import TypeVar

from roost import exception, states
from roost.cells import Cell, Cells
from roost.cells.security_groups import GroupCopies
from roost.clock import boot_clock
from roost.conductor.failures import PlacementFailure
from roost.conductor.placement_query import PlacementQuery
from roost.context import RequestContext
from roost.db.api import build_requests, instance_mappings
from roost.db.cell import actions, builds, faults, instances
from roost.db.engine import Database, Session, retried
from roost.db.types import utcnow
from roost.flow import Flow, Step
from roost.objects import (
    BuildRequest,
    Instance,
    InstanceAction,
    InstanceActionEvent,
    RequestSpec,
    Selection,
)
from roost.objects.mapping import CELL0_UUID
from roost.rpc.notifications import Notifier
from roost.scheduler.client import SchedulerClient

LOG = logging.getLogger(__name__)


class LeaseTaken(exception.Conflict):
    """The lease is lost: the user deleted the server, or another worker has taken it up."""


@dataclasses.dataclass(frozen=True)
class BootService:
    """Places build requests.

    :param alternates: number of further hosts of the same cell for reschedules
    :param lease_seconds: time until another worker may take up a leased build request
    :param groups: copies security groups to the cells of new servers; None: no host filters
    :param boot_patience: seconds that a build request which fits nowhere else waits for
        unavailable cells
    :param stale_seconds: an older build request may be from an old copy of the database, so all
        cells are asked whether they have it; 0: none is
    """

    host: str
    database: Database
    cells: Cells
    scheduler: SchedulerClient
    notifier: Notifier
    alternates: int
    lease_seconds: float
    boot_patience: float = 60.0
    stale_seconds: float = 0
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

        :param again: they have waited, or are from an old copy: any cell may have them
        """
        begun, until = utcnow(), boot_clock() + self.lease_seconds
        owner = f"{self.host}:{uuids.uuid4().hex[:12]}"[-64:]
        leased, spec = self._lease(request_uuid, instance_uuids, owner=owner)
        if spec is None:
            return
        down = {cell.uuid for cell in self.cells.unavailable() if not cell.mapping.disabled}
        work = LeasedRequest(self, context, spec, owner, until=until, down=down, again=again)
        try:
            fresh = [
                build_request
                for build_request in leased
                if not self._was_begun(work, build_request)
            ]
            while fresh:
                fresh = self._place_all(work, fresh, begun)
        except exception.Unavailable:
            self._hand_back(owner)
            raise

    @retried
    def _lease(
        self, request_uuid: str, instance_uuids: Sequence[str], *, owner: str
    ) -> tuple[list[BuildRequest], RequestSpec | None]:
        with self.database.begin() as session:
            leased = build_requests.lease(
                session, owner=owner, seconds=self.lease_seconds, instance_uuids=instance_uuids
            )
            return leased, build_requests.get_spec(session, request_uuid) if leased else None

    @retried
    def _hand_back(self, owner: str) -> None:
        with self.database.begin() as session:
            build_requests.hand_back(session, owner)

    def _place_all(
        self, work: "LeasedRequest", pending: Sequence[BuildRequest], begun: datetime.datetime
    ) -> list[BuildRequest]:
        """Place build requests; return those to be placed again, as their cell is unavailable."""
        closed = {cell.uuid for cell in self.cells.closed()}
        work.spec.ignore_cells = sorted(closed | work.down)
        leased = self.event("super-conductor.lease", begun)
        asked = utcnow()
        uuids: list[str] = [build_request.instance_uuid for build_request in pending]
        try:
            chosen = PlacementQuery(self.scheduler, self.notifier).select(
                work.context,
                request_spec=work.spec,
                instance_uuids=uuids,
                alternates=self.alternates,
            )
        except exception.NoValidHost as error:
            events = [leased, self.event("scheduler.select_destinations", asked, error.message)]
            if not self._wait_for_cells(work, pending):
                self._record_failures(work, pending, events, PlacementFailure.refused(error))
            return []
        events = [leased, self.event("scheduler.select_destinations", asked)]
        aimed = self._set_target_cells(
            work, {u: s[0].cell_uuid for u, s in zip(uuids, chosen, strict=True)}
        )
        tasks = [
            PlacedInstance(
                work,
                build_request,
                list(events),
                aimed=build_request.instance_uuid in aimed,
                selections=selections,
            )
            for build_request, selections in zip(pending, chosen, strict=True)
        ]
        refused = [task for task in tasks if self._is_refused(task)]
        work.down.update(task.chosen.cell_uuid for task in refused)
        self._set_target_cells(work, {task.uuid: None for task in refused})
        return [task.build_request for task in refused]

    @staticmethod
    def _is_refused(task: "PlacedInstance") -> bool:
        """Place one build request; return whether its cell was unavailable and has nothing of it.

        One that the scheduler sent to such a cell again, by its old claim, waits for its lease.
        """
        failure = _carry_out(PLACE, task)
        again = task.chosen.cell_uuid in task.work.down
        return isinstance(failure, exception.Unavailable) and not task.created and not again

    def _record_failures(
        self,
        work: "LeasedRequest",
        failed: Sequence[BuildRequest],
        events: Sequence[InstanceActionEvent],
        why: PlacementFailure,
    ) -> None:
        aimed = self._set_target_cells(
            work, {build_request.instance_uuid: CELL0_UUID for build_request in failed}
        )
        for build_request in failed:
            ours = build_request.instance_uuid in aimed
            _carry_out(RECORD, Cell0Record(work, build_request, list(events), aimed=ours, why=why))

    def _wait_for_cells(self, work: "LeasedRequest", pending: Sequence[BuildRequest]) -> bool:
        """Leave build requests to the sweeper while an unavailable cell may have room for them."""
        age = self.database.now() - min(build_request.created_at for build_request in pending)
        if not work.down or age.total_seconds() > self.boot_patience:
            return False
        LOG.info("request %s: waits for unavailable cells", work.spec.request_uuid)
        self._hand_back(work.owner)
        return True

    @retried
    def _set_target_cells(self, work: "LeasedRequest", cells: Mapping[str, str | None]) -> set[str]:
        """Record the target cell of each build request; return those whose lease is still ours.

        :param cells: cell uuids by instance; None: no target cell, and no cell can have it
        """
        with self.database.begin() as session:
            return build_requests.target_cell(session, cells, owner=work.owner)

    def _was_begun(self, work: "LeasedRequest", build_request: BuildRequest) -> bool:
        """Return whether a cell has, or may have, the instance by an earlier try; adopt it then."""
        cells = {build_request.cell_uuid} if build_request.cell_uuid else set()
        if work.again:
            old = self._is_old(build_request)
            cells |= {cell.uuid for cell in self.cells.all() if cell.is_readable or old}
        return any(
            self._was_begun_in(work, build_request, cell_uuid) for cell_uuid in sorted(cells)
        )

    def _is_old(self, build_request: BuildRequest) -> bool:
        """Return whether a build request may be from an old copy of the database."""
        age = self.database.now() - build_request.created_at
        return 0 < self.stale_seconds < age.total_seconds()

    def _was_begun_in(
        self, work: "LeasedRequest", build_request: BuildRequest, cell_uuid: str
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
            _carry_out(ADOPT, task)
        return found is not None

    def event(
        self, name: str, begun: datetime.datetime, failure: str | None = None
    ) -> InstanceActionEvent:
        """Return an event that ends now, for the instance's history."""
        return InstanceActionEvent(
            event=name,
            host=self.host,
            start_time=begun,
            finish_time=utcnow(),
            result="Success" if failure is None else "Error",
            details=failure,
        )


@dataclasses.dataclass(frozen=True)
class LeasedRequest:
    """One request that one worker has leased; ``owner`` names its lease.

    ``until``: when the lease ends, by ``boot_clock``. ``down``: the unavailable cells.
    """

    boots: BootService
    context: RequestContext
    spec: RequestSpec
    owner: str
    until: float
    down: set[str]
    again: bool = False
    brought: set[tuple[str, str]] = dataclasses.field(default_factory=set)

    def bring_groups(self, cell: Cell, project_id: str) -> None:
        """Copy the security groups of a project to a cell, once for the whole request."""
        if self.boots.groups is not None and (cell.uuid, project_id) not in self.brought:
            self.boots.groups.bring(cell, project_id)
            self.brought.add((cell.uuid, project_id))


@dataclasses.dataclass
class BootTask:
    """One build request that is being placed: the argument of the steps below.

    ``aimed``: the lease was ours when its target cell was recorded. ``created``: the cell may have
    the instance, which then must keep its claim. ``pointed``: the mapping points to the cell,
    unless the database did not commit that.
    """

    work: LeasedRequest
    build_request: BuildRequest
    events: list[InstanceActionEvent]
    aimed: bool = dataclasses.field(kw_only=True)
    cell: Cell = dataclasses.field(init=False)
    created: bool = dataclasses.field(init=False, default=False)
    pointed: bool = dataclasses.field(init=False, default=False)

    @property
    def uuid(self) -> str:
        return str(self.build_request.instance_uuid)

    @property
    def boots(self) -> BootService:
        return self.work.boots

    def __str__(self) -> str:
        return f"[instance: {self.uuid}] placement"

    @retried
    def is_ours(self) -> bool:
        """Return whether the steps may be undone: no other worker has continued them."""
        with self.boots.database.begin() as session:
            return self.may_take_back(session)

    def may_take_back(self, session: Session) -> bool:
        """Return the same, valid until the transaction of the API database ends.

        No other worker continues a build request that its user deleted during our lease.
        """
        if build_requests.holds(session, self.uuid, owner=self.work.owner):
            return True
        mapping = instance_mappings.find(session, self.uuid)
        still_ours = boot_clock() < self.work.until
        return mapping is None or (bool(mapping.queued_for_delete) and still_ours)


@dataclasses.dataclass
class PlacedInstance(BootTask):
    """A build request with a host."""

    selections: Sequence[Selection] = dataclasses.field(kw_only=True)

    @property
    def chosen(self) -> Selection:
        return self.selections[0]

    @property
    def host(self) -> str:
        return self.chosen.host

    @property
    def instance(self) -> Instance:
        """The instance with its host, as it is created in the cell and sent to the host."""
        instance: Instance = self.build_request.instance
        instance.host, instance.node = self.chosen.host, self.chosen.node
        instance.numa_topology, instance.pci = self.chosen.numa_topology, list(self.chosen.pci)
        instance.attempt, instance.updated_at = 1, self.cell.database.now()
        instance.vm_state, instance.task_state = states.WAITING
        instance.availability_zone = self.chosen.availability_zone
        return instance


@dataclasses.dataclass
class Cell0Record(BootTask):
    """A build request that no host can take, and the reason."""

    why: PlacementFailure = dataclasses.field(kw_only=True)


def find_cell(task: PlacedInstance) -> None:
    """Find the cell of the chosen host, and map a new host; copy the security groups there."""
    _check_ours(task)
    cells = task.boots.cells
    try:
        task.cell = cells.of_host(task.host)
    except exception.NotFound:
        task.cell = cells.discover(task.host, task.chosen.cell_uuid)
    task.work.bring_groups(task.cell, task.build_request.instance.project_id)


def release_claim(task: PlacedInstance) -> None:
    """Release the claim, unless the cell may have the instance: then it is tried again."""
    if not task.created and task.is_ours():
        task.boots.scheduler.release_claims(task.work.context, instance_uuids=[task.uuid])


def create_in_cell(task: PlacedInstance) -> None:
    """Create the instance, its build and its history so far, in one transaction."""
    build = builds.BuildRow(
        instance_uuid=task.uuid,
        attempt=1,
        host=task.host,
        spec=task.work.spec,
        selection=task.chosen,
        alternates=task.selections[1:],
        tried=[],
    )
    _create(task, build, begun=utcnow())


@retried
def _create(task: PlacedInstance, build: builds.BuildRow, *, begun: datetime.datetime) -> None:
    with task.cell.database.begin() as session:
        if instances.create(session, task.instance):  # else an earlier try has created it
            builds.create(session, build)
            created = task.boots.event("super-conductor.create_in_cell", begun)
            actions.start(session, _create_action(task.build_request, [*task.events, created]))
        task.created = True  # from here on it may be committed, even if the commit seems to fail


@retried
def remove_from_cell(task: BootTask) -> None:
    """Remove the instance from its cell, under a lock that keeps other workers from adopting it."""
    if not task.created:
        return
    with task.boots.database.begin() as held:
        if not task.may_take_back(held):
            return
        with task.cell.database.begin() as session:
            instances.remove(session, [task.uuid])
    task.created = False


@retried
def point_mapping_to_cell(task: BootTask) -> None:
    """Set the mapping's cell and delete the BuildRequest, in one transaction."""
    with task.boots.database.begin() as session:
        if build_requests.forget(session, task.uuid, owner=task.work.owner):
            instance_mappings.place(session, task.uuid, task.cell.uuid)
            task.pointed = True
        elif not task.pointed or instance_mappings.find(session, task.uuid) is None:
            raise LeaseTaken("deleted by its user, or taken up by another worker")


def hand_to_compute(task: PlacedInstance) -> None:
    """Cast to the host, which owns the build from here on; a lost cast is sent again."""
    LOG.info("[instance: %s] build sent to %s in cell %s", task.uuid, task.host, task.cell.name)
    try:
        task.cell.compute.on(task.host).build_and_run_instance(
            task.work.context,
            instance=task.instance,
            request_spec=task.work.spec,
            selection=task.chosen,
        )
    except exception.RoostError as error:
        LOG.warning(
            "[instance: %s] cast of the build to host %s failed, the sweeper resends it: %s",
            task.uuid, task.host, error.message,
        )  # fmt: skip


def find_cell0(task: Cell0Record) -> None:
    _check_ours(task)
    task.cell = task.boots.cells.cell0()


@retried
def record_in_cell0(task: Cell0Record) -> None:
    """Create the instance in ERROR, with the reason for its user."""
    build_request = task.build_request
    build_request.instance.vm_state, build_request.instance.task_state = states.ERROR, None
    if build_request.instance.provisions is not None:
        build_request.instance.provisions.forget_secrets()
    with task.cell.database.begin() as session:
        if instances.create(session, build_request.instance):
            faults.add(session, task.why.fault(task.uuid, host=None))
            actions.start(session, _create_action(build_request, task.events))
            actions.add_events(session, task.uuid, [], finish=True, message=task.why.message)
        task.created = True
    LOG.warning("[instance: %s] build failed for good: %s", task.uuid, task.why.line)


def _check_ours(task: BootTask) -> None:
    if not task.aimed:
        raise LeaseTaken("deleted by its user, or taken up by another worker")


PLACE: Flow[PlacedInstance] = Flow(
    "place",
    [
        Step(find_cell, undo=release_claim),  # select_destinations made the claim
        Step(create_in_cell, undo=remove_from_cell),
        Step(point_mapping_to_cell),  # nothing to undo: it happens whole or not at all
        Step(hand_to_compute),  # never fails
    ],
)
RECORD: Flow[Cell0Record] = Flow(
    "record",
    [
        Step(find_cell0),
        Step(record_in_cell0, undo=remove_from_cell),
        Step(point_mapping_to_cell),
    ],
)
# The cell's own sweeper sends the build to the host, after it has renewed the claim.
ADOPT: Flow[BootTask] = Flow("adopt", [Step(point_mapping_to_cell)])
T = TypeVar("T", bound=BootTask)


def _carry_out(flow: Flow[T], task: T) -> exception.RoostError | None:
    """Run a flow for one build request; no error keeps the others from being placed.

    :returns: the error that the flow failed with, if any
    """
    try:
        flow(task)
    except LeaseTaken as error:
        LOG.info("[instance: %s] not placed: %s", task.uuid, error.message)
        return error
    except exception.RoostError as error:
        LOG.warning("[instance: %s] not placed, will be tried again: %s", task.uuid, error.message)
        return error
    except Exception:
        LOG.exception("[instance: %s] not placed, will be tried again", task.uuid)
    return None


def _create_action(
    build_request: BuildRequest, events: Sequence[InstanceActionEvent]
) -> InstanceAction:
    accepted = InstanceActionEvent(
        event="api.accept",
        host=None,
        start_time=build_request.created_at,
        finish_time=build_request.created_at,
        result="Success",
        details=None,
    )
    return InstanceAction(
        instance_uuid=build_request.instance_uuid,
        action="create",
        request_id=build_request.request_id,
        user_id=build_request.user_id,
        project_id=build_request.project_id,
        start_time=build_request.created_at,
        finish_time=None,
        message=None,
        events=[accepted, *events],
    )
