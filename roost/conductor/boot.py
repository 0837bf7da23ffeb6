"""From an accepted request to instances that their hosts have been told of.

Before: ``api/server_create.py`` stored BuildRequests and cast a hint here. After:
``compute/build.py`` on each host, by cast; or cell0, for what no host can take.

The scheduler is asked once for all instances of a request; then each is placed by the steps of
``PLACE``. A wish whose placing fails stays a wish: its lease runs out, and the sweeper brings it
here again. A worker may outlive its lease, or not hear that it succeeded; so only who holds the
lease fulfils a wish, and nobody takes back what another goes on with.
"""

import dataclasses
import datetime
import logging
import uuid as uuids
from collections.abc import Sequence
from typing import TypeVar

from roost import exception, states
from roost.cells import Cell, Cells
from roost.conductor.destinations import Destinations
from roost.context import RequestContext
from roost.db.api import build_requests, instance_mappings
from roost.db.cell import actions, builds, faults, instances
from roost.db.engine import Database
from roost.db.types import utcnow
from roost.flow import Flow, Step
from roost.objects import (
    BuildRequest,
    Instance,
    InstanceAction,
    InstanceActionEvent,
    InstanceFault,
    RequestSpec,
    Selection,
)
from roost.rpc.notifications import Notifier
from roost.scheduler.client import SchedulerClient

LOG = logging.getLogger(__name__)


class NotOurs(exception.Conflict):
    """The user deleted the server while it was being placed, or another worker has taken it up."""


@dataclasses.dataclass(frozen=True)
class Boots:
    """Builds what was asked for. All it needs arrives here.

    :param alternates: how many further hosts of the same cell a reschedule may turn to
    :param lease_seconds: how long a wish is ours before another may take it up
    """

    host: str
    database: Database
    cells: Cells
    scheduler: SchedulerClient
    notifier: Notifier
    alternates: int
    lease_seconds: float

    def build(
        self, context: RequestContext, request_uuid: str, instance_uuids: Sequence[str]
    ) -> None:
        """Place those wishes of a request that nobody else is at work on."""
        begun = utcnow()
        owner = f"{self.host}:{uuids.uuid4().hex[:12]}"[-64:]
        with self.database.begin() as session:
            wishes = build_requests.lease(
                session, owner=owner, seconds=self.lease_seconds, instance_uuids=instance_uuids
            )
            if not wishes:
                return
            spec = build_requests.get_spec(session, request_uuid)
        spec.ignore_cells = [cell.uuid for cell in self.cells.closed()]
        try:
            self._place_all(Work(self, context, spec, owner), wishes, begun)
        except exception.Unavailable:
            with self.database.begin() as session:
                build_requests.hand_back(session, owner)
            raise

    def _place_all(
        self, work: "Work", wishes: Sequence[BuildRequest], begun: datetime.datetime
    ) -> None:
        leased = self.event("super-conductor.lease", begun)
        asked = utcnow()
        uuids = [wish.instance_uuid for wish in wishes]
        try:
            chosen = Destinations(self.scheduler, self.notifier).select(
                work.context,
                request_spec=work.spec,
                instance_uuids=uuids,
                alternates=self.alternates,
            )
        except exception.NoValidHost as error:
            events = [leased, self.event("scheduler.select_destinations", asked, error.message)]
            for wish in wishes:
                _carry_out(BURY, Burial(work, wish, list(events), error))
            return
        events = [leased, self.event("scheduler.select_destinations", asked)]
        for wish, selections in zip(wishes, chosen, strict=True):
            _carry_out(PLACE, Placement(work, wish, list(events), selections))

    def event(
        self, name: str, begun: datetime.datetime, failure: str | None = None
    ) -> InstanceActionEvent:
        """Return a step that ends now, for the instance's history."""
        return InstanceActionEvent(
            event=name,
            host=self.host,
            start_time=begun,
            finish_time=utcnow(),
            result="Success" if failure is None else "Error",
            details=failure,
        )


@dataclasses.dataclass(frozen=True)
class Work:
    """One request in the hands of one worker; ``owner`` names its lease."""

    boots: Boots
    context: RequestContext
    spec: RequestSpec
    owner: str


@dataclasses.dataclass
class Task:
    """One wish on its way to a cell: what the steps below work on.

    ``created``: the cell may have the instance, which then must keep its claim.
    """

    work: Work
    wish: BuildRequest
    events: list[InstanceActionEvent]
    cell: Cell = dataclasses.field(init=False)
    created: bool = dataclasses.field(init=False, default=False)

    @property
    def uuid(self) -> str:
        return str(self.wish.instance_uuid)

    @property
    def boots(self) -> Boots:
        return self.work.boots

    def is_ours(self) -> bool:
        """Tell whether what was done may be taken back: nobody has gone on with it."""
        with self.boots.database.begin() as session:
            if build_requests.holds(session, self.uuid, owner=self.work.owner):
                return True
            return instance_mappings.find(session, self.uuid) is None


@dataclasses.dataclass
class Placement(Task):
    """A wish with a host."""

    selections: Sequence[Selection]

    @property
    def host(self) -> str:
        return self.selections[0].host

    @property
    def instance(self) -> Instance:
        """The wish, given a place: what is created in the cell and sent to the host."""
        instance: Instance = self.wish.instance
        instance.host, instance.node = self.host, self.selections[0].node
        instance.attempt = 1
        instance.vm_state, instance.task_state = states.WAITING
        if instance.availability_zone is None:
            instance.availability_zone = self.selections[0].availability_zone
        return instance


@dataclasses.dataclass
class Burial(Task):
    """A wish that no host can take, and why."""

    error: exception.NoValidHost


def find_cell(task: Placement) -> None:
    """The chosen host belongs to a cell; a host seen for the first time is mapped now."""
    cells = task.boots.cells
    try:
        task.cell = cells.of_host(task.host)
    except exception.NotFound:
        task.cell = cells.discover(task.host, task.selections[0].cell_uuid)


def release_claim(task: Placement) -> None:
    """Let go of the host, unless the cell may have the instance there: then it is tried again."""
    if task.is_ours() and not task.created:
        task.boots.scheduler.release_claims(task.work.context, instance_uuids=[task.uuid])


def create_in_cell(task: Placement) -> None:
    """The instance, its build and its history so far, in one transaction."""
    begun = utcnow()
    build = builds.BuildRow(
        instance_uuid=task.uuid,
        attempt=1,
        host=task.host,
        spec=task.work.spec,
        alternates=task.selections[1:],
        tried=[],
    )
    task.created = True
    with task.cell.database.begin() as session:
        if not instances.create(session, task.instance):
            return  # an earlier try came as far as this
        builds.create(session, build)
        task.events.append(task.boots.event("super-conductor.create_in_cell", begun))
        actions.start(session, _create_action(task.wish, task.events))


def remove_from_cell(task: Task) -> None:
    if not task.is_ours():
        return
    with task.cell.database.begin() as session:
        instances.remove(session, task.uuid)
    task.created = False


def point_mapping_to_cell(task: Task) -> None:
    """The wish is fulfilled: mapping and BuildRequest change together, so it is either or."""
    with task.boots.database.begin() as session:
        if not build_requests.forget(session, task.uuid, owner=task.work.owner):
            raise NotOurs("deleted by its user, or taken up by another worker")
        instance_mappings.place(session, task.uuid, task.cell.uuid)


def hand_to_compute(task: Placement) -> None:
    """From here on the host owns it. The cast is a hint: the build's row says it, too."""
    LOG.info("%s: placed on %s in cell %s", task.uuid, task.host, task.cell.name)
    try:
        task.cell.compute.on(task.host).build_and_run_instance(
            task.work.context, instance=task.instance, request_spec=task.work.spec
        )
    except exception.RoostError as error:
        LOG.warning("%s: %s not told yet: %s", task.uuid, task.host, error.message)


def find_cell0(task: Burial) -> None:
    task.cell = task.boots.cells.cell0()


def rest_in_cell0(task: Burial) -> None:
    """The instance in ERROR, with the reason for its user."""
    wish, why = task.wish, task.error.message
    wish.instance.vm_state, wish.instance.task_state = states.ERROR, None
    with task.cell.database.begin() as session:
        if not instances.create(session, wish.instance):
            return
        faults.add(session, _no_host_fault(wish, task.error))
        actions.start(session, _create_action(wish, task.events))
        actions.add_events(session, task.uuid, [], finish=True, message=why)
    LOG.info("%s: no valid host: %s", task.uuid, why)


PLACE: Flow[Placement] = Flow(
    "place",
    [
        Step(find_cell, undo=release_claim),  # select_destinations made the claim
        Step(create_in_cell, undo=remove_from_cell),
        Step(point_mapping_to_cell),  # nothing to undo: it happens whole or not at all
        Step(hand_to_compute),  # never fails
    ],
)
BURY: Flow[Burial] = Flow(
    "bury",
    [
        Step(find_cell0),
        Step(rest_in_cell0, undo=remove_from_cell),
        Step(point_mapping_to_cell),
    ],
)
T = TypeVar("T", bound=Task)


def _carry_out(flow: Flow[T], task: T) -> None:
    """Do what is to be done for one wish; whatever happens, the others have their turn."""
    try:
        flow(task)
    except NotOurs as error:
        LOG.info("%s: %s", task.uuid, error.message)
    except exception.RoostError as error:
        LOG.warning("%s: not placed, will be tried again: %s", task.uuid, error.message)
    except Exception:
        LOG.exception("%s: not placed, will be tried again", task.uuid)


def _create_action(wish: BuildRequest, events: Sequence[InstanceActionEvent]) -> InstanceAction:
    accepted = InstanceActionEvent(
        event="api.accept",
        host=None,
        start_time=wish.created_at,
        finish_time=wish.created_at,
        result="Success",
        details=None,
    )
    return InstanceAction(
        instance_uuid=wish.instance_uuid,
        action="create",
        request_id=wish.request_id,
        user_id=wish.user_id,
        project_id=wish.project_id,
        start_time=wish.created_at,
        finish_time=None,
        message=None,
        events=[accepted, *events],
    )


def _no_host_fault(wish: BuildRequest, error: exception.NoValidHost) -> InstanceFault:
    return InstanceFault(
        instance_uuid=wish.instance_uuid,
        code=500,
        message=error.message,
        details=str(error.details.get("refusals", "")),
        host=None,
        created_at=utcnow(),
    )
