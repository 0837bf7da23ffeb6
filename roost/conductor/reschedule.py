"""A build that failed on one host: the next host, or the end.

Before: ``compute/build.py`` gave up on its host and cast here. After: ``compute/build.py`` on the
next host, by cast; or ERROR, with a fault that names every host tried and why it failed.
"""

import dataclasses
import logging
from collections.abc import Sequence

from roost import exception, states
from roost.conductor.destinations import Destinations
from roost.context import RequestContext
from roost.db.cell import actions, builds, faults, identity, instances, ports
from roost.db.engine import Database
from roost.db.types import utcnow
from roost.objects import (
    BuildPayload,
    InstanceActionEvent,
    InstanceFault,
    RequestSpec,
    Selection,
    TriedHost,
)
from roost.objects.request_spec import Retry
from roost.rpc.compute import Compute
from roost.rpc.notifications import Notifier
from roost.scheduler.client import SchedulerClient

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Failure:
    """One attempt that failed: where, why, and the steps it got to."""

    instance_uuid: str
    host: str
    attempt: int
    reason: str
    events: Sequence[InstanceActionEvent]

    @property
    def expected(self) -> dict[str, object]:
        """What the instance must be like for this failure to be news."""
        return {"host": self.host, "attempt": self.attempt, "vm_state": states.BUILDING}


@dataclasses.dataclass(frozen=True)
class Rescheduling:
    """Finds failed builds another host in this cell. All it needs arrives here.

    :param host: the name of this conductor's host, for the instance's history
    :param max_attempts: hosts that an instance is tried on before it ends in ERROR
    """

    host: str
    database: Database
    scheduler: SchedulerClient
    compute: Compute
    notifier: Notifier
    max_attempts: int

    def build_elsewhere(self, context: RequestContext, failure: Failure) -> None:
        """Move a build to its next host; nothing happens when the failure is old news."""
        build = self._note(failure)
        if build is None:
            LOG.info("%s: failed on %s, no longer wanted", failure.instance_uuid, failure.host)
            return
        LOG.info(
            "%s: attempt %d failed on %s: %s",
            failure.instance_uuid, failure.attempt, failure.host, failure.reason,
        )  # fmt: skip
        self.go_on(context, build)

    def go_on(self, context: RequestContext, build: builds.BuildRow) -> None:
        """Find the next host for a build whose failure is written down; may be repeated."""
        if build.attempt >= self.max_attempts:
            self._give_up(context, build, f"Exceeded maximum number of attempts: {_told(build)}")
            return
        try:
            chosen, alternates = self._next_host(context, build)
        except exception.NoCapacity as error:
            self._give_up(context, build, f"{error.message} Hosts tried: {_told(build)}")
            return
        self._hand_to(context, build, chosen, alternates)

    def abandon(self, context: RequestContext, failure: Failure) -> None:
        """End a build that no host would cure."""
        build = self._note(failure)
        if build is not None:
            self._give_up(context, build, f"Build failed: {_told(build)}")

    def _note(self, failure: Failure) -> builds.BuildRow | None:
        """Write down what failed; None when the instance is deleted or elsewhere by now."""
        with self.database.begin() as session:
            build = builds.find(session, failure.instance_uuid)
            if build is None or build.attempt != failure.attempt:
                return None
            try:
                instances.update(
                    session,
                    failure.instance_uuid,
                    {"task_state": states.SCHEDULING},
                    expected={**failure.expected, "task_state": states.BUILD_TASKS},
                )
            except (exception.Conflict, exception.NotFound):
                return None
            if not build.has_failed_on(failure.host):
                actions.add_events(session, failure.instance_uuid, failure.events)
                build = dataclasses.replace(build, tried=[*build.tried, _tried(failure)])
                builds.advance(session, build, from_attempt=failure.attempt)
            return build

    def _next_host(
        self, context: RequestContext, build: builds.BuildRow
    ) -> tuple[Selection, Sequence[Selection]]:
        """Claim the next alternate with room; without one, ask the scheduler for this cell."""
        for at, alternate in enumerate(build.alternates):
            try:
                claimed = self.scheduler.move_claim(
                    context,
                    instance_uuid=build.instance_uuid,
                    request_spec=build.spec,
                    to=alternate,
                )
            except exception.NoCapacity:
                LOG.info("%s: no room on %s any more", build.instance_uuid, alternate.host)
            else:
                return claimed, build.alternates[at + 1 :]
        return self._ask_scheduler(context, build)

    def _ask_scheduler(
        self, context: RequestContext, build: builds.BuildRow
    ) -> tuple[Selection, Sequence[Selection]]:
        chosen, *alternates = Destinations(self.scheduler, self.notifier).select(
            context,
            request_spec=self._narrowed(build),
            instance_uuids=[build.instance_uuid],
            alternates=self.max_attempts - build.attempt - 1,
        )[0]
        return chosen, alternates

    def _narrowed(self, build: builds.BuildRow) -> RequestSpec:
        """The same question for this cell only, without the hosts already tried."""
        spec: RequestSpec = build.spec.obj_clone()
        spec.num_instances = 1
        spec.requested_cell = self._own_cell()
        spec.ignore_hosts = [*spec.ignore_hosts, *(tried.host for tried in build.tried)]
        spec.retry = Retry(max_attempts=self.max_attempts, tried=list(build.tried))
        return spec

    def _own_cell(self) -> str:
        with self.database.read() as session:
            return identity.get(session)[0]

    def _hand_to(
        self,
        context: RequestContext,
        build: builds.BuildRow,
        chosen: Selection,
        alternates: Sequence[Selection],
    ) -> None:
        following = dataclasses.replace(
            build, attempt=build.attempt + 1, host=chosen.host, alternates=alternates
        )
        moved = self._move(build, following, chosen)
        with self.database.read() as session:
            instance = instances.find(session, build.instance_uuid)
        if moved and instance is not None:
            LOG.info("%s: goes on to %s", build.instance_uuid, chosen.host)
            self.compute.on(chosen.host).build_and_run_instance(
                context, instance=instance, request_spec=build.spec
            )
        elif instance is None or instance.task_state == states.DELETING:
            self.scheduler.release_claims(context, instance_uuids=[build.instance_uuid])
        # else a doubled message was faster: instance and claim are where it put them

    def _move(self, build: builds.BuildRow, following: builds.BuildRow, chosen: Selection) -> bool:
        """Point instance and build to the next host, unless somebody was faster."""
        with self.database.begin() as session:
            try:
                instances.update(
                    session,
                    build.instance_uuid,
                    {"host": chosen.host, "node": chosen.node, "attempt": following.attempt},
                    expected={"attempt": build.attempt, "task_state": states.SCHEDULING},
                )
            except (exception.Conflict, exception.NotFound):
                LOG.info("%s: deleted or moved meanwhile", build.instance_uuid)
                return False
            builds.advance(session, following, from_attempt=build.attempt)
            actions.add_events(session, build.instance_uuid, [self._moved(build, chosen)])
            return True

    def _moved(self, build: builds.BuildRow, chosen: Selection) -> InstanceActionEvent:
        now = utcnow()
        return InstanceActionEvent(
            event="cell-conductor.reschedule",
            host=self.host,
            start_time=now,
            finish_time=now,
            result="Success",
            details=f"from {build.host} to {chosen.host}",
        )

    def _give_up(self, context: RequestContext, build: builds.BuildRow, message: str) -> None:
        """Nothing is left of the build but its row in ERROR, and why."""
        with self.database.begin() as session:
            try:
                instances.update(
                    session,
                    build.instance_uuid,
                    {"vm_state": states.ERROR, "task_state": None, "host": None, "node": None},
                    expected={"attempt": build.attempt, "task_state": states.SCHEDULING},
                )
            except (exception.Conflict, exception.NotFound):
                return  # deleted meanwhile: that has its own end
            ports.free(session, build.instance_uuid)
            builds.end(session, build.instance_uuid)
            faults.add(session, _fault(build, message))
            actions.add_events(session, build.instance_uuid, [], finish=True, message=message)
        LOG.warning("%s: %s", build.instance_uuid, message)
        self.notifier.error(context, "instance.create.error", _payload(build, message))
        self.scheduler.release_claims(context, instance_uuids=[build.instance_uuid])


def _told(build: builds.BuildRow) -> str:
    return "; ".join(f"{tried.host}: {tried.reason}" for tried in build.tried)


def _tried(failure: Failure) -> TriedHost:
    return TriedHost(host=failure.host, node=None, reason=failure.reason)


def _fault(build: builds.BuildRow, message: str) -> InstanceFault:
    return InstanceFault(
        instance_uuid=build.instance_uuid,
        code=500,
        message=message,
        details=None,
        host=build.host,
        created_at=utcnow(),
    )


def _payload(build: builds.BuildRow, message: str) -> BuildPayload:
    return BuildPayload(
        instance_uuid=build.instance_uuid,
        project_id=build.spec.project_id,
        attempt=build.attempt,
        host=build.host,
        reason=message,
    )
