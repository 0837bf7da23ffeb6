"""Places the instances of leased requests: the steps, with their undos.

Before: ``boot_service.py`` leased the requests, and the scheduler claimed a host for each instance,
or found none. After: ``compute/operations/build.py`` on each host, by cast; or cell0, for instances
that no host can take.

Instances that come to one cell take each step together. When anything fails, or is not as usual
with one of them, each takes the steps again by itself.

When a step fails, the build request stays: its lease expires, and the sweeper begins again. A
worker may outlive its lease, or not learn that its commit succeeded; so only the owner of the lease
fulfils a build request, and no worker undoes what another continues.
"""

import dataclasses
import datetime
import logging
from collections.abc import Sequence
from typing import Generic, TypeVar

from roost import exception, states
from roost.cells import Cell, Cells
from roost.cells.security_groups import GroupCopies
from roost.clock import boot_clock
from roost.conductor.failures import PlacementFailure
from roost.context import RequestContext, current
from roost.db.api import build_requests, instance_mappings
from roost.db.cell import actions, faults, instances, operations
from roost.db.cell.operations import named
from roost.db.engine import Database, Session, retried
from roost.db.types import utcnow
from roost.flow import Flow, Step
from roost.objects import (
    BuildRequest,
    GivenLease,
    Instance,
    InstanceAction,
    InstanceActionEvent,
    Operation,
    OperationParams,
    RequestSpec,
    Selection,
)
from roost.operations.kinds import BUILD
from roost.scheduler.client import SchedulerClient

LOG = logging.getLogger(__name__)


class LeaseTaken(exception.Conflict):
    """The lease is lost: the user deleted the server, or another worker has taken it up."""

    def __init__(self) -> None:
        super().__init__("deleted by its user, or taken up by another worker")


@dataclasses.dataclass(frozen=True)
class BootLease:
    """What one worker has leased at one time, and what its steps work with.

    ``host``: the worker's, for the history of instances. ``groups``: None: no host filters.
    ``task_seconds``: the length of the lease that hosts get on their builds.
    ``owner``: names the lease; ``until``: when it ends, by ``boot_clock``. ``down``: the cells that
    are unavailable.
    """

    host: str
    database: Database
    cells: Cells
    scheduler: SchedulerClient
    groups: GroupCopies | None
    task_seconds: float
    owner: str
    until: float
    down: set[str]
    brought: set[tuple[str, str]] = dataclasses.field(default_factory=set)

    def bring_groups(self, cell: Cell, project_id: str) -> None:
        """Copy the security groups of a project to a cell, once for the whole lease."""
        if self.groups is not None and (cell.uuid, project_id) not in self.brought:
            self.groups.bring(cell, project_id)
            self.brought.add((cell.uuid, project_id))

    def event(
        self, name: str, begun: datetime.datetime, failure: str | None = None
    ) -> InstanceActionEvent:
        """Return an event that ends now, for an instance's history."""
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
    """One request, with those of its build requests that are to be placed.

    ``context``: that of its user.
    """

    context: RequestContext
    spec: RequestSpec
    build_requests: Sequence[BuildRequest]

    @property
    def instance_uuids(self) -> list[str]:
        return [each.instance_uuid for each in self.build_requests]


@dataclasses.dataclass
class BootTask:
    """One build request that is being placed.

    ``aimed``: the lease was ours when its target cell was recorded. ``created``: the cell may have
    the instance, which then must keep its claim. ``pointed``: the mapping points to the cell,
    unless the database did not commit that.
    """

    build_request: BuildRequest
    events: list[InstanceActionEvent]
    aimed: bool = dataclasses.field(default=False, kw_only=True)
    created: bool = dataclasses.field(init=False, default=False)
    pointed: bool = dataclasses.field(init=False, default=False)

    @property
    def uuid(self) -> str:
        return str(self.build_request.instance_uuid)


@dataclasses.dataclass
class PlacedInstance(BootTask):
    """A build request with a host.

    ``given``: the host's lease on the build, if this worker has certainly created the row just now.
    """

    request: LeasedRequest = dataclasses.field(kw_only=True)
    given: GivenLease | None = dataclasses.field(init=False, default=None)
    selections: Sequence[Selection] = dataclasses.field(kw_only=True)

    @property
    def chosen(self) -> Selection:
        return self.selections[0]

    @property
    def host(self) -> str:
        return self.chosen.host

    def instance_in(self, cell: Cell) -> Instance:
        """Return the instance with its host, as the cell and the host get it: with its lease."""
        instance: Instance = self.build_request.instance
        instance.host, instance.node = self.chosen.host, self.chosen.node
        instance.numa_topology, instance.pci = self.chosen.numa_topology, list(self.chosen.pci)
        instance.allocations = dict(self.chosen.allocations)
        instance.attempt, instance.updated_at = 1, cell.database.now()
        instance.vm_state = states.BUILDING
        instance.task_state = states.NETWORKING if instance.networks else states.SPAWNING
        instance.availability_zone = self.chosen.availability_zone
        return instance

    @property
    def build(self) -> Operation:
        """The operation, with the uuid of the instance: whoever takes it up means the same one."""
        params = OperationParams.of(
            spec=self.request.spec, selection=self.chosen, alternates=list(self.selections[1:])
        )
        return Operation.of(
            uuid=self.uuid,
            instance_uuid=self.uuid,
            kind=BUILD.name,
            host=self.host,
            step=BUILD.steps[0].name,
            params=params,
        )


@dataclasses.dataclass
class Cell0Record(BootTask):
    """A build request that no host can take, and the reason."""

    why: PlacementFailure = dataclasses.field(kw_only=True)


T = TypeVar("T", bound=BootTask)


@dataclasses.dataclass
class BootGroup(Generic[T]):
    """Tasks of one lease whose instances come to the same cell: the argument of the steps below.

    Undos get one task only: a group in which anything fails is divided before.
    """

    lease: BootLease
    tasks: Sequence[T]
    cell: Cell = dataclasses.field(init=False)

    @property
    def uuids(self) -> list[str]:
        return [task.uuid for task in self.tasks]

    def __str__(self) -> str:
        return f"[instance: {', '.join(self.uuids)}] placement"

    def is_ours(self, task: T) -> bool:
        """Return whether the steps may be undone: no other worker has continued them."""
        return self.lease.database.write(self.may_take_back, task)

    def may_take_back(self, session: Session, task: T) -> bool:
        """Return the same, valid until the transaction of the API database ends.

        No other worker continues a build request that its user deleted during our lease.
        """
        if build_requests.holds(session, task.uuid, owner=self.lease.owner):
            return True
        mapping = instance_mappings.find(session, task.uuid)
        still_ours = boot_clock() < self.lease.until
        return mapping is None or (bool(mapping.queued_for_delete) and still_ours)


PLACE: Flow[BootGroup[PlacedInstance]] = Flow(
    "place",
    lambda: [
        Step(find_cell, undo=release_claims),  # select_destinations made the claims
        Step(create_in_cell, undo=remove_from_cell),
        Step(point_mappings_to_cell),  # nothing to undo: it happens whole or not at all
        Step(hand_to_computes),  # never fails
    ],
)
# The same for several at once. It undoes nothing, as PLACE continues after a failure, with each.
PLACE_TOGETHER: Flow[BootGroup[PlacedInstance]] = Flow(
    "place together", lambda: [Step(step.do) for step in PLACE.steps]
)
RECORD: Flow[BootGroup[Cell0Record]] = Flow(
    "record",
    lambda: [
        Step(find_cell0),
        Step(record_in_cell0, undo=remove_from_cell),
        Step(point_mappings_to_cell),
    ],
)
# Of an instance that a cell has by an earlier try. The cell's own sweeper sends the build to the
# host, after it has renewed the claim.
ADOPT: Flow[BootGroup[BootTask]] = Flow("adopt", lambda: [Step(point_mappings_to_cell)])


def carry_out_together(group: BootGroup[PlacedInstance]) -> bool:
    """Place a group of which nothing is placed yet; return whether all of it is."""
    try:
        PLACE_TOGETHER(group)
    except exception.RoostError as error:
        LOG.info("%s: one by one: %s", group, error.message)
    except Exception:
        LOG.exception("%s: one by one", group)
    else:
        return True
    return False


def carry_out(flow: Flow[BootGroup[T]], group: BootGroup[T]) -> exception.RoostError | None:
    """Run a flow for one build request; no error keeps the others from being placed.

    :returns: the error that the flow failed with, if any
    """
    (task,) = group.tasks
    try:
        flow(group)
    except LeaseTaken as error:
        LOG.info("[instance: %s] not placed: %s", task.uuid, error.message)
        return error
    except exception.RoostError as error:
        LOG.warning("[instance: %s] not placed, will be tried again: %s", task.uuid, error.message)
        return error
    except Exception:
        LOG.exception("[instance: %s] not placed, will be tried again", task.uuid)
    return None


def find_cell(group: BootGroup[PlacedInstance]) -> None:
    """Find the cell of the chosen hosts, and map new hosts; copy the security groups there."""
    if not all(task.aimed for task in group.tasks):
        raise LeaseTaken
    for host, cell_uuid in {task.host: task.chosen.cell_uuid for task in group.tasks}.items():
        try:
            group.cell = group.lease.cells.of_host(host)
        except exception.NotFound:
            group.cell = group.lease.cells.discover(host, cell_uuid)
    for task in group.tasks:
        group.lease.bring_groups(group.cell, task.build_request.instance.project_id)


def release_claims(group: BootGroup[PlacedInstance]) -> None:
    """Release the claim, unless the cell may have the instance: then it is tried again.

    If the release comes late, the instance may be on that host by then, by another try.
    """
    (task,) = group.tasks
    if not task.created and group.is_ours(task):
        group.lease.scheduler.release_claims(
            task.request.context, instance_uuids=[task.uuid], reserved=True
        )


def create_in_cell(group: BootGroup[PlacedInstance]) -> None:
    """Create the instances, their builds and their history so far, in one transaction."""
    try:
        _create(group, begun=utcnow())
    except exception.Conflict:  # an earlier try has created some
        if len(group.tasks) > 1:
            raise
        group.tasks[0].created = True


@retried
def _create(group: BootGroup[PlacedInstance], *, begun: datetime.datetime) -> None:
    now = group.cell.database.now()
    given = GivenLease.of(
        since=now, until=now + datetime.timedelta(seconds=group.lease.task_seconds)
    )
    created = group.lease.event("super-conductor.create_in_cell", begun)
    with group.cell.database.begin() as session:
        instances.create_all(session, [task.instance_in(group.cell) for task in group.tasks])
        builds = [(task.build, task.build_request.request_id) for task in group.tasks]
        operations.start_builds(session, builds, now=now, until=given.until)
        happened = {
            task.uuid: _create_action(task.build_request, [*task.events, created])
            for task in group.tasks
        }
        actions.start_builds(session, happened, now=now)
        for task in group.tasks:
            task.created = True  # from here on it may be committed, even if that seems to fail
    for task in group.tasks:
        task.given = given


@retried
def remove_from_cell(group: BootGroup[T]) -> None:
    """Remove the instance from its cell, under a lock that keeps other workers from adopting it."""
    (task,) = group.tasks
    if not task.created:
        return
    with group.lease.database.begin() as held:
        if not group.may_take_back(held, task):
            return
        with group.cell.database.begin() as session:
            instances.remove(session, [task.uuid])
    task.created = False


@retried
def point_mappings_to_cell(group: BootGroup[T]) -> None:
    """Set the cell of the mappings and delete the BuildRequests, in one transaction."""
    uuids = group.uuids
    with group.lease.database.begin() as session:
        if build_requests.fulfil(session, uuids, owner=group.lease.owner) == len(uuids):
            instance_mappings.map_to_cell(session, uuids, group.cell.uuid)
            for task in group.tasks:
                task.pointed = True
            return
        if len(uuids) > 1:
            raise LeaseTaken
        (task,) = group.tasks
        if not task.pointed or instance_mappings.find(session, task.uuid) is None:
            raise LeaseTaken


def hand_to_computes(group: BootGroup[PlacedInstance]) -> None:
    """Cast to the hosts, which own the builds from here on; a lost cast is sent again."""
    for task in group.tasks:
        with current(task.request.context):
            _hand_to_compute(group.cell, task)


def _hand_to_compute(cell: Cell, task: PlacedInstance) -> None:
    LOG.info("[instance: %s] build sent to %s in cell %s", task.uuid, task.host, cell.name)
    try:
        cell.compute.on(task.host).build_and_run_instance(
            task.request.context,
            operation=named(task.build, given=task.given),
            instance=task.instance_in(cell),
            request_spec=task.request.spec,
            selection=task.chosen,
        )
    except exception.RoostError as error:
        LOG.warning(
            "[instance: %s] cast of the build to host %s failed, the sweeper resends it: %s",
            task.uuid, task.host, error.message,
        )  # fmt: skip


def find_cell0(group: BootGroup[Cell0Record]) -> None:
    if not all(task.aimed for task in group.tasks):
        raise LeaseTaken
    group.cell = group.lease.cells.cell0()


@retried
def record_in_cell0(group: BootGroup[Cell0Record]) -> None:
    """Create the instance in ERROR, with the reason for its user."""
    (task,) = group.tasks
    build_request = task.build_request
    build_request.instance.vm_state, build_request.instance.task_state = states.ERROR, None
    if build_request.instance.provisions is not None:
        build_request.instance.provisions.forget_secrets()
    with group.cell.database.begin() as session:
        if instances.create(session, build_request.instance):
            faults.add(session, task.why.fault(task.uuid, host=None))
            failed = _create_action(build_request, task.events)
            failed.finish_time, failed.message = utcnow(), task.why.message
            actions.start(session, failed)
        task.created = True
    LOG.warning("[instance: %s] build failed for good: %s", task.uuid, task.why.line)


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
