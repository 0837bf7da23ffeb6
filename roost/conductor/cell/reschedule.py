"""A build that failed on one host: the next host, or the end.

Before: ``compute/build.py`` gave up on its host and cast here, or the sweeper saw that nobody works
on it. After: ``compute/build.py`` on the next host (or on the same one, told again), by cast; or
ERROR, with a fault that says what its user can mend, or how many hosts were tried; its details name
every host and why it failed, for administrators.

What the scheduler is asked comes before what the row is made to say: who dies in between leaves a
row that brings the sweeper here again, and the same claim is moved or released once more.
"""

import dataclasses
import datetime
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception, states
from roost.conductor.cell.builds import BuildClaims
from roost.conductor.cell.delete import NONE, ExternalPorts
from roost.conductor.failures import PlacementFailure, instant_event
from roost.context import RequestContext
from roost.db.cell import actions, builds, faults, guest_config, instances, ports
from roost.db.engine import Database, retried
from roost.objects import (
    BuildPayload,
    Instance,
    InstanceActionEvent,
    Selection,
    TriedHost,
)
from roost.rpc.compute import Compute
from roost.rpc.notifications import Notifier
from roost.scheduler.client import CellSchedulerClient

LOG = logging.getLogger(__name__)
_UNBEGUN: Final = {"task_state": states.SCHEDULING}
_NOWHERE: Final[dict[str, Any]] = {
    **dict.fromkeys(("host", "node", "availability_zone", "numa_topology")),
    "pci": [],
}


@dataclasses.dataclass(frozen=True)
class FailedAttempt:
    """One attempt that failed: where, why, and the steps it got to.

    :param reason: when another host is to be tried, in words for administrators; else for the user
    :param found: what else the instance must be like for this to be news
    :param told: what the user reads if there is no other host
    """

    instance_uuid: str
    host: str
    attempt: int
    reason: str
    events: Sequence[InstanceActionEvent]
    found: Mapping[str, object] = dataclasses.field(
        default_factory=lambda: {"task_state": states.BUILD_TASKS}
    )
    told: str | None = None

    @property
    def expected(self) -> dict[str, object]:
        """What the instance must be like for this failure to be news."""
        known = {"host": self.host, "attempt": self.attempt, "vm_state": states.BUILDING}
        return {**known, **self.found}


@dataclasses.dataclass(frozen=True)
class Rescheduling:
    """Finds failed builds another host in this cell. All it needs arrives here.

    :param host: the name of this conductor's host, for the instance's history
    :param max_attempts: hosts that an instance is tried on before it ends in ERROR
    """

    host: str
    database: Database
    scheduler: CellSchedulerClient
    compute: Compute
    notifier: Notifier
    max_attempts: int
    outside_ports: ExternalPorts = NONE

    @property
    def places(self) -> BuildClaims:
        return BuildClaims(self.database, self.scheduler, self.notifier, self.max_attempts)

    def build_elsewhere(self, context: RequestContext, failure: FailedAttempt) -> None:
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
        if len(build.tried) >= self.max_attempts:
            self._abandon(context, build, _attempts_used_up(build))
            return
        try:
            chosen, alternates = self.places.take_next(context, build)
        except exception.NoValidHost as error:
            inside = f". Hosts tried: {_summary(build)}"
            before = f". {_count(build)} before."
            reason = PlacementFailure.refused(
                error, first=_told(build), and_so=before, inside=inside
            )
            self._abandon(context, build, reason)
            return
        self._hand_to(context, build, chosen, alternates)

    def resend(self, context: RequestContext, build: builds.BuildRow) -> None:
        """Tell a host once more that it is to build an instance, now that its claim surely holds.

        When the claim ran out and somebody else has the place, the build goes on to the next host.
        """
        try:
            place = self.places.keep(context, build)
        except exception.NoCapacity as error:
            self._lose_place(context, build, error.message, found=_UNBEGUN)
            return
        instance = self._put(build, place)
        if instance is None:
            self._follow(context, build.instance_uuid)
        else:
            LOG.info("%s: telling %s again to build it", build.instance_uuid, build.host)
            self._notify_host(context, instance, dataclasses.replace(build, selection=place))

    def begin_again(
        self, context: RequestContext, build: builds.BuildRow, *, found: Mapping[str, object]
    ) -> None:
        """Let a host that is there begin once more with a build that it left lying.

        It is another attempt: what may be left of the one before is void from here on.

        :param found: what the instance must be like still
        """
        try:
            place = self.places.keep(context, build)
        except exception.NoCapacity as error:
            self._lose_place(context, build, error.message, found=found)
            return
        again = dataclasses.replace(build, attempt=build.attempt + 1, selection=place)
        instance = self._move(build, again, found=found)
        if instance is None:
            self._follow(context, build.instance_uuid)
        else:
            LOG.info("%s: begins again on %s", build.instance_uuid, build.host)
            self._notify_host(context, instance, again)

    def leave(
        self,
        context: RequestContext,
        build: builds.BuildRow,
        *,
        why: str,
        found: Mapping[str, object],
    ) -> None:
        """Let a build go on elsewhere that its host is not to go on with.

        :param found: what the instance must be like still
        """
        event = self._event("cell-conductor.sweep", result="Error", details=why)
        self.build_elsewhere(context, _failure(build, why, event, found))

    def abandon(self, context: RequestContext, failure: FailedAttempt) -> None:
        """End a build that no host would cure."""
        build = self._note(failure)
        if build is not None:
            inside = f"Build failed: {_summary(build)}"
            reason = PlacementFailure(f"Build failed: {failure.reason}", inside)
            self._abandon(context, build, reason)

    @retried
    def _note(self, failure: FailedAttempt) -> builds.BuildRow | None:
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
                    expected=failure.expected,
                )
            except (exception.Conflict, exception.NotFound):
                return None
            if not build.has_failed_on(failure.host):
                actions.add_events(session, failure.instance_uuid, failure.events)
                build = dataclasses.replace(build, tried=[*build.tried, _tried(failure)])
                builds.advance(session, build, from_attempt=failure.attempt)
            return build

    def _hand_to(
        self,
        context: RequestContext,
        build: builds.BuildRow,
        chosen: Selection,
        alternates: Sequence[Selection],
    ) -> None:
        following = dataclasses.replace(
            build,
            attempt=build.attempt + 1,
            host=chosen.host,
            selection=chosen,
            alternates=alternates,
        )
        instance = self._move(build, following, found=_UNBEGUN)
        if instance is None:
            self._follow(context, build.instance_uuid)
        else:
            LOG.info("%s: goes on to %s", build.instance_uuid, chosen.host)
            self._notify_host(context, instance, following)

    def _follow(self, context: RequestContext, instance_uuid: str) -> None:
        """Somebody was faster: let the claim be where that one put the instance, if anywhere."""
        with self.database.read() as session:
            instance = instances.find(session, instance_uuid)
            build = builds.find(session, instance_uuid)
        if instance is None or instance.host is None or instance.task_state == states.DELETING:
            self.places.release(context, instance_uuid)
        elif build is not None:
            try:
                self.places.keep(context, build)
            except exception.NoCapacity as error:
                LOG.warning("%s: has no claim on %s: %s", instance_uuid, build.host, error)

    def _notify_host(
        self, context: RequestContext, instance: Instance, build: builds.BuildRow
    ) -> None:
        self.compute.on(build.host).build_and_run_instance(
            context, instance=instance, request_spec=build.spec, selection=build.selection
        )

    def _move(
        self, build: builds.BuildRow, following: builds.BuildRow, *, found: Mapping[str, object]
    ) -> Instance | None:
        """Point instance and build to the next attempt, unless somebody was faster."""
        return self._move_once(build, following, found, at=self.database.now())

    @retried
    def _move_once(
        self,
        build: builds.BuildRow,
        following: builds.BuildRow,
        found: Mapping[str, object],
        *,
        at: datetime.datetime,
    ) -> Instance | None:
        place = {**_placed(following.selection), **_UNBEGUN, "attempt": following.attempt}
        with self.database.begin() as session:
            try:
                done = instances.update(
                    session,
                    build.instance_uuid,
                    place,
                    expected={"attempt": build.attempt, **found},
                    at=at,
                )
            except (exception.Conflict, exception.NotFound):
                LOG.info("%s: deleted or moved meanwhile", build.instance_uuid)
                return None
            if done:
                builds.advance(session, following, from_attempt=build.attempt)
                moved = self._moved(build, following.host)
                actions.add_events(session, build.instance_uuid, [moved])
            return guest_config.get_instance(session, build.instance_uuid)

    @retried
    def _put(self, build: builds.BuildRow, place: Selection) -> Instance | None:
        """Note the place that an instance has on its host, unless the host has begun meanwhile.

        A message that names another place is void from here on: see ``begin_build``.
        """
        waiting = {
            "host": build.host,
            "attempt": build.attempt,
            "task_state": states.SCHEDULING,
        }
        with self.database.begin() as session:
            try:
                instances.update(session, build.instance_uuid, _placed(place), expected=waiting)
            except (exception.Conflict, exception.NotFound):
                return None
            if place != build.selection:
                builds.put(session, build.instance_uuid, place)
            return guest_config.get_instance(session, build.instance_uuid)

    def _lose_place(
        self,
        context: RequestContext,
        build: builds.BuildRow,
        why: str,
        *,
        found: Mapping[str, object],
    ) -> None:
        reason = f"The claim ran out before the host began. {why}"
        event = self._event("cell-conductor.keep_claim", result="Error", details=reason)
        self.build_elsewhere(context, _failure(build, reason, event, found))

    def _moved(self, build: builds.BuildRow, host: str) -> InstanceActionEvent:
        details = f"from {build.host} to {host}"
        if host == build.host:
            details = f"again on {host}, where nobody was at work on it any more"
        return self._event("cell-conductor.reschedule", result="Success", details=details)

    def _event(self, name: str, *, result: str, details: str) -> InstanceActionEvent:
        return instant_event(name, host=self.host, result=result, details=details)

    def _abandon(
        self, context: RequestContext, build: builds.BuildRow, why: PlacementFailure
    ) -> None:
        """Nothing is left of the build but its row in ERROR, and why.

        :raises roost.exception.Unavailable: when its claim cannot be released now, or its ports
            cannot be freed: then it waits
        """
        self.scheduler.release_claims(context, instance_uuids=[build.instance_uuid])
        self.outside_ports.free(build.instance_uuid)
        if not self._end(build, why, at=self.database.now()):
            self._follow(context, build.instance_uuid)
            return
        LOG.warning("%s: %s", build.instance_uuid, why.line)
        self.notifier.error(context, "instance.create.error", _payload(build, why.counted))

    @retried
    def _end(self, build: builds.BuildRow, why: PlacementFailure, *, at: datetime.datetime) -> bool:
        with self.database.begin() as session:
            try:
                done = instances.update(
                    session,
                    build.instance_uuid,
                    {"vm_state": states.ERROR, "task_state": None, **_NOWHERE},
                    expected={"attempt": build.attempt, "task_state": states.SCHEDULING},
                    at=at,
                )
            except (exception.Conflict, exception.NotFound):
                return False
            if done:
                ports.free(session, build.instance_uuid)
                builds.end(session, build.instance_uuid)
                guest_config.forget_secrets(session, build.instance_uuid)
                faults.add(session, why.fault(build.instance_uuid, host=build.host))
                actions.add_events(
                    session, build.instance_uuid, [], finish=True, message=why.message
                )
        return True


def _placed(place: Selection) -> dict[str, Any]:
    """Return what an instance's row says of its place."""
    return {
        "host": place.host,
        "node": place.node,
        "availability_zone": place.availability_zone,
        "numa_topology": place.numa_topology,
        "pci": list(place.pci),
    }


def _attempts_used_up(build: builds.BuildRow) -> PlacementFailure:
    start, end = exception.NO_VALID_HOST, "Exceeded maximum number of attempts: "
    return PlacementFailure(
        f"{start}{_told(build)}{end}{_count(build)}.", f"{start}{end}{_summary(build)}"
    )


def _told(build: builds.BuildRow) -> str:
    """Return what the user reads first: why the hosts that were tried could not have it."""
    reasons = dict.fromkeys(tried.told for tried in build.tried if tried.told)
    return "".join(f"{reason} " for reason in reasons)


def _count(build: builds.BuildRow) -> str:
    many = len(build.tried)
    return f"{many} host{' was' if many == 1 else 's were'} tried"


def _summary(build: builds.BuildRow) -> str:
    return "; ".join(f"{tried.host}: {tried.reason}" for tried in build.tried)


def _failure(
    build: builds.BuildRow, why: str, event: InstanceActionEvent, found: Mapping[str, object]
) -> FailedAttempt:
    return FailedAttempt(build.instance_uuid, build.host, build.attempt, why, [event], found)


def _tried(failure: FailedAttempt) -> TriedHost:
    return TriedHost(host=failure.host, node=None, reason=failure.reason, told=failure.told)


def _payload(build: builds.BuildRow, message: str) -> BuildPayload:
    return BuildPayload(
        instance_uuid=build.instance_uuid,
        project_id=build.spec.project_id,
        attempt=build.attempt,
        host=build.host,
        reason=message,
    )
