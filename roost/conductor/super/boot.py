"""Places the instances of a leased request: the steps for each, with their undos.

Before: ``boot_service.py`` leased the request, and the scheduler claimed a host for each instance,
or found none. After: ``compute/operations/build.py`` on each host, by cast; or cell0, for instances
that no host can take.

When a step fails, the build request stays: its lease expires, and the sweeper begins again. A
worker may outlive its lease, or not learn that its commit succeeded; so only the owner of the lease
fulfils a build request, and no worker undoes what another continues.
"""

import dataclasses
import datetime
import logging
from collections.abc import Sequence
from typing import TypeVar

from roost import exception, states
from roost.cells import Cell, Cells
from roost.cells.security_groups import GroupCopies
from roost.clock import boot_clock
from roost.conductor.failures import PlacementFailure
from roost.context import RequestContext
from roost.db.api import build_requests, instance_mappings
from roost.db.cell import actions, faults, instances, operations
from roost.db.cell.operations import named
from roost.db.engine import Database, Session, retried
from roost.db.types import utcnow
from roost.flow import Flow, Step
from roost.objects import (
    BuildRequest,
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
class LeasedRequest:
    """One request that one worker has leased, and what its steps work with.

    ``host``: the worker's, for the history of instances. ``groups``: None: no host filters.
    ``owner``: names the lease; ``until``: when it ends, by ``boot_clock``. ``down``: the cells that
    are unavailable.
    """

    host: str
    database: Database
    cells: Cells
    scheduler: SchedulerClient
    groups: GroupCopies | None
    context: RequestContext
    spec: RequestSpec
    owner: str
    until: float
    down: set[str]
    brought: set[tuple[str, str]] = dataclasses.field(default_factory=set)

    def bring_groups(self, cell: Cell, project_id: str) -> None:
        """Copy the security groups of a project to a cell, once for the whole request."""
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

    def __str__(self) -> str:
        return f"[instance: {self.uuid}] placement"

    def is_ours(self) -> bool:
        """Return whether the steps may be undone: no other worker has continued them."""
        return self.work.database.write(self.may_take_back)

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
        instance.allocations = dict(self.chosen.allocations)
        instance.attempt, instance.updated_at = 1, self.cell.database.now()
        instance.vm_state, instance.task_state = states.WAITING
        instance.availability_zone = self.chosen.availability_zone
        return instance

    @property
    def build(self) -> Operation:
        """The operation, with the uuid of the instance: whoever takes it up means the same one."""
        params = OperationParams.of(
            spec=self.work.spec, selection=self.chosen, alternates=list(self.selections[1:])
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


PLACE: Flow[PlacedInstance] = Flow(
    "place",
    lambda: [
        Step(find_cell, undo=release_claim),  # select_destinations made the claim
        Step(create_in_cell, undo=remove_from_cell),
        Step(point_mapping_to_cell),  # nothing to undo: it happens whole or not at all
        Step(hand_to_compute),  # never fails
    ],
)
RECORD: Flow[Cell0Record] = Flow(
    "record",
    lambda: [
        Step(find_cell0),
        Step(record_in_cell0, undo=remove_from_cell),
        Step(point_mapping_to_cell),
    ],
)
# Of an instance that a cell has by an earlier try. The cell's own sweeper sends the build to the
# host, after it has renewed the claim.
ADOPT: Flow[BootTask] = Flow("adopt", lambda: [Step(point_mapping_to_cell)])
T = TypeVar("T", bound=BootTask)


def carry_out(flow: Flow[T], task: T) -> exception.RoostError | None:
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


def find_cell(task: PlacedInstance) -> None:
    """Find the cell of the chosen host, and map a new host; copy the security groups there."""
    if not task.aimed:
        raise LeaseTaken
    cells = task.work.cells
    try:
        task.cell = cells.of_host(task.host)
    except exception.NotFound:
        task.cell = cells.discover(task.host, task.chosen.cell_uuid)
    task.work.bring_groups(task.cell, task.build_request.instance.project_id)


def release_claim(task: PlacedInstance) -> None:
    """Release the claim, unless the cell may have the instance: then it is tried again."""
    if not task.created and task.is_ours():
        task.work.scheduler.release_claims(task.work.context, instance_uuids=[task.uuid])


def create_in_cell(task: PlacedInstance) -> None:
    """Create the instance, its build and its history so far, in one transaction."""
    _create(task, task.build, begun=utcnow())


@retried
def _create(task: PlacedInstance, build: Operation, *, begun: datetime.datetime) -> None:
    request = task.build_request
    with task.cell.database.begin() as session:
        if instances.create(session, task.instance):  # else an earlier try has created it
            operations.start_build(session, build, request_id=request.request_id)
            created = task.work.event("super-conductor.create_in_cell", begun)
            action = _create_action(request, [*task.events, created])
            actions.start(session, action, operation_uuid=build.uuid)
        task.created = True  # from here on it may be committed, even if the commit seems to fail


@retried
def remove_from_cell(task: BootTask) -> None:
    """Remove the instance from its cell, under a lock that keeps other workers from adopting it."""
    if not task.created:
        return
    with task.work.database.begin() as held:
        if not task.may_take_back(held):
            return
        with task.cell.database.begin() as session:
            instances.remove(session, [task.uuid])
    task.created = False


@retried
def point_mapping_to_cell(task: BootTask) -> None:
    """Set the mapping's cell and delete the BuildRequest, in one transaction."""
    with task.work.database.begin() as session:
        if build_requests.forget(session, task.uuid, owner=task.work.owner):
            instance_mappings.map_to_cell(session, task.uuid, task.cell.uuid)
            task.pointed = True
        elif not task.pointed or instance_mappings.find(session, task.uuid) is None:
            raise LeaseTaken


def hand_to_compute(task: PlacedInstance) -> None:
    """Cast to the host, which owns the build from here on; a lost cast is sent again."""
    LOG.info("[instance: %s] build sent to %s in cell %s", task.uuid, task.host, task.cell.name)
    try:
        task.cell.compute.on(task.host).build_and_run_instance(
            task.work.context,
            operation=named(task.build),
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
    if not task.aimed:
        raise LeaseTaken
    task.cell = task.work.cells.cell0()


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
