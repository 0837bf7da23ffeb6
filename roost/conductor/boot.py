"""From an accepted request to instances that their hosts have been told of.

Before: ``api/servers.py`` stored BuildRequests and cast a hint here. After: ``compute/build.py`` on
each host, by cast; or cell0, for what no host can take.

The scheduler is asked once for all instances of a request; then each is placed by the steps of
``PLACE``. A wish whose placing fails stays a wish: its lease runs out, and the sweeper brings it
here again.
"""

import dataclasses
import datetime
import logging
import uuid as uuids
from collections.abc import Sequence

from roost import exception, states
from roost.cells import Cell, Cells
from roost.context import RequestContext
from roost.db.api import build_requests, instance_mappings
from roost.db.cell import actions, builds, faults, instances
from roost.db.engine import Database
from roost.db.types import utcnow
from roost.flow import Flow, Step
from roost.objects import (
    BuildRequest,
    DestinationsPayload,
    Instance,
    InstanceAction,
    InstanceActionEvent,
    InstanceFault,
    RequestSpec,
    Selection,
)
from roost.objects.mapping import CELL0_UUID
from roost.rpc.notifications import Notifier
from roost.scheduler.client import SchedulerClient

LOG = logging.getLogger(__name__)


class Withdrawn(exception.Conflict):
    """The user deleted the server while it was being placed."""


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
        try:
            self._place_all(context, spec, wishes, begun)
        except exception.Unavailable:
            with self.database.begin() as session:
                build_requests.hand_back(session, owner)
            raise

    def _place_all(
        self,
        context: RequestContext,
        spec: RequestSpec,
        wishes: Sequence[BuildRequest],
        begun: datetime.datetime,
    ) -> None:
        leased = self.event("super-conductor.lease", begun)
        asked = utcnow()
        try:
            chosen = self._ask_scheduler(context, spec, [wish.instance_uuid for wish in wishes])
        except exception.NoValidHost as error:
            events = [leased, self.event("scheduler.select_destinations", asked, error.message)]
            for wish in wishes:
                self._bury_in_cell0(wish, error, events)
            return
        events = [leased, self.event("scheduler.select_destinations", asked)]
        for wish, selections in zip(wishes, chosen, strict=True):
            self._place(Placement(self, context, spec, wish, selections, list(events)))

    def _ask_scheduler(
        self, context: RequestContext, spec: RequestSpec, instance_uuids: list[str]
    ) -> list[list[Selection]]:
        asked = DestinationsPayload(
            request_spec=spec, instance_uuids=instance_uuids, selections=[], reason=None
        )
        self.notifier.info(context, "scheduler.select_destinations.start", asked)
        try:
            chosen = self.scheduler.select_destinations(
                context,
                request_spec=spec,
                instance_uuids=instance_uuids,
                alternates=self.alternates,
            )
        except exception.NoValidHost as error:
            asked.reason = error.message
            self.notifier.error(context, "scheduler.select_destinations.error", asked)
            raise
        asked.selections = [selections[0] for selections in chosen]
        self.notifier.info(context, "scheduler.select_destinations.end", asked)
        return chosen

    def _place(self, placement: "Placement") -> None:
        uuid = placement.wish.instance_uuid
        try:
            PLACE(placement)
        except Withdrawn:
            LOG.info("%s: deleted by its user while it was being placed", uuid)
        except exception.RoostError as error:
            LOG.warning("%s: not placed, will be tried again: %s", uuid, error.message)
        else:
            LOG.info("%s: placed on %s in cell %s", uuid, placement.host, placement.cell.name)

    def _bury_in_cell0(
        self,
        wish: BuildRequest,
        error: exception.NoValidHost,
        events: Sequence[InstanceActionEvent],
    ) -> None:
        """Let an instance that no host can take rest in cell0, in ERROR, with the reason."""
        cell0 = self.cells.cell0()
        instance = wish.instance
        instance.vm_state, instance.task_state = states.ERROR, None
        with cell0.database.begin() as session:
            if instances.create(session, instance):
                faults.add(session, _no_host_fault(wish, error))
            actions.start(session, _create_action(wish, events))
            actions.add_events(session, wish.instance_uuid, [], finish=True, message=error.message)
        with self.database.begin() as session:
            wanted = build_requests.forget(session, wish.instance_uuid)
            if wanted:
                instance_mappings.place(session, wish.instance_uuid, CELL0_UUID)
        if not wanted:
            with cell0.database.begin() as session:
                instances.remove(session, wish.instance_uuid)
        LOG.info("%s: no valid host: %s", wish.instance_uuid, error.message)

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


@dataclasses.dataclass
class Placement:
    """One wish on its way to its host: what the steps below work on."""

    boots: Boots
    context: RequestContext
    spec: RequestSpec
    wish: BuildRequest
    selections: Sequence[Selection]
    events: list[InstanceActionEvent]
    cell: Cell = dataclasses.field(init=False)

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


def find_cell(work: Placement) -> None:
    """The chosen host belongs to a cell; a host seen for the first time is mapped now."""
    cells = work.boots.cells
    try:
        work.cell = cells.of_host(work.host)
    except exception.NotFound:
        work.cell = cells.discover(work.host, work.selections[0].cell_uuid)


def release_claim(work: Placement) -> None:
    work.boots.scheduler.release_claims(work.context, instance_uuids=[work.wish.instance_uuid])


def create_in_cell(work: Placement) -> None:
    """The instance, its build and its history so far, in one transaction."""
    begun = utcnow()
    build = builds.BuildRow(
        instance_uuid=work.wish.instance_uuid,
        attempt=1,
        host=work.host,
        spec=work.spec,
        alternates=work.selections[1:],
        tried=[],
    )
    with work.cell.database.begin() as session:
        if not instances.create(session, work.instance):
            return  # an earlier try came as far as this
        builds.create(session, build)
        work.events.append(work.boots.event("super-conductor.create_in_cell", begun))
        actions.start(session, _create_action(work.wish, work.events))


def remove_from_cell(work: Placement) -> None:
    with work.cell.database.begin() as session:
        instances.remove(session, work.wish.instance_uuid)


def point_mapping_to_cell(work: Placement) -> None:
    """The wish is fulfilled: mapping and BuildRequest change together, so it is either or."""
    with work.boots.database.begin() as session:
        if not build_requests.forget(session, work.wish.instance_uuid):
            raise Withdrawn(f"{work.wish.instance_uuid} was deleted by its user")
        instance_mappings.place(session, work.wish.instance_uuid, work.cell.uuid)


def hand_to_compute(work: Placement) -> None:
    """From here on the host owns it. The cast is a hint: the build's row says it, too."""
    compute = work.cell.compute.on(work.host)
    try:
        compute.build_and_run_instance(work.context, instance=work.instance, request_spec=work.spec)
    except exception.Unavailable as error:
        LOG.warning("%s: %s not told yet: %s", work.wish.instance_uuid, work.host, error.message)


PLACE: Flow[Placement] = Flow(
    "place",
    [
        Step(find_cell, undo=release_claim),  # select_destinations made the claim
        Step(create_in_cell, undo=remove_from_cell),
        Step(point_mapping_to_cell),  # nothing to undo: it happens whole or not at all
        Step(hand_to_compute),  # never fails
    ],
)


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
