"""Reschedules a build that failed on one host to the next host, or ends it in ERROR.

Before: ``compute/build.py`` gave up on its host and cast here, or the sweeper found an expired
lease. After: ``compute/build.py`` on the next host (or again on the same one), by cast; or ERROR,
with a fault that says what its user can change, or how many hosts were tried; its details name
every host and its failure, for administrators.

Calls to the scheduler come before changes of the row: if the conductor dies in between, the sweeper
finds the unchanged row, comes here again, and moves or releases the same claim once more.
"""

import dataclasses
import datetime
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception, states
from roost.conductor.cell.builds import BuildClaims
from roost.conductor.cell.operations.delete import NONE, ExternalPorts
from roost.conductor.failures import PlacementFailure, instant_event
from roost.context import RequestContext
from roost.db.cell import actions, builds, faults, guest_config, instances, ports
from roost.db.cell.actions import CREATE
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
    "allocations": {},
}


@dataclasses.dataclass(frozen=True)
class FailedAttempt:
    """One attempt that failed: its host, the reason, and its events.

    :param reason: for administrators if another host is to be tried, else for the user
    :param found: further expected values of the instance's row; otherwise the failure is ignored
    :param user_reason: the reason for the user if there is no other host
    """

    instance_uuid: str
    host: str
    attempt: int
    reason: str
    events: Sequence[InstanceActionEvent]
    found: Mapping[str, object] = dataclasses.field(
        default_factory=lambda: {"task_state": states.BUILD_TASKS}
    )
    user_reason: str | None = None

    @property
    def expected(self) -> dict[str, object]:
        """The expected values of the instance's row; otherwise the failure is ignored."""
        known = {"host": self.host, "attempt": self.attempt, "vm_state": states.BUILDING}
        return {**known, **self.found}


@dataclasses.dataclass(frozen=True)
class Rescheduling:
    """Finds another host in this cell for failed builds.

    :param host: the name of this conductor's host, for the instance's history
    :param max_attempts: number of hosts that an instance is tried on before it ends in ERROR
    """

    host: str
    database: Database
    scheduler: CellSchedulerClient
    compute: Compute
    notifier: Notifier
    max_attempts: int
    outside_ports: ExternalPorts = NONE

    @property
    def claims(self) -> BuildClaims:
        return BuildClaims(self.database, self.scheduler, self.notifier, self.max_attempts)

    def build_elsewhere(self, context: RequestContext, failure: FailedAttempt) -> None:
        """Move a build to its next host, unless the failure is outdated."""
        build = self._note(failure)
        if build is None:
            LOG.info(
                "[instance: %s] build failed on %s, no longer wanted",
                failure.instance_uuid,
                failure.host,
            )
            return
        LOG.warning(
            "[instance: %s] build (attempt %d) failed on %s: %s",
            failure.instance_uuid, failure.attempt, failure.host, failure.reason,
        )  # fmt: skip
        self.go_on(context, build)

    def go_on(self, context: RequestContext, build: builds.BuildRow) -> None:
        """Find the next host for a build whose failure is recorded; repeatable."""
        if len(build.tried) >= self.max_attempts:
            self._abandon(context, build, _attempts_used_up(build))
            return
        try:
            chosen, alternates = self.claims.take_next(context, build)
        except exception.NoValidHost as error:
            inside = f". Hosts tried: {_summary(build)}"
            before = f". {_count(build)} before."
            reason = PlacementFailure.refused(
                error, first=_user_reasons(build), and_so=before, inside=inside
            )
            self._abandon(context, build, reason)
            return
        self._hand_to(context, build, chosen, alternates)

    def resend(self, context: RequestContext, build: builds.BuildRow) -> None:
        """Send a build to its host again, after renewing its claim.

        When the claim expired and the host has no capacity left, the next host gets the build.
        """
        try:
            selection = self.claims.keep(context, build)
        except exception.NoCapacity as error:
            self._lose_claim(context, build, error.message, found=_UNBEGUN)
            return
        instance = self._put(build, selection)
        if instance is None:
            self._follow(context, build.instance_uuid)
        else:
            LOG.info("[instance: %s] build resent to %s", build.instance_uuid, build.host)
            self._notify_host(context, instance, dataclasses.replace(build, selection=selection))

    def begin_again(
        self, context: RequestContext, build: builds.BuildRow, *, found: Mapping[str, object]
    ) -> None:
        """Restart a build on its host, which is up but let the lease expire.

        It counts as another attempt: messages of the previous attempt are invalid from now on.

        :param found: expected values of the instance's row
        """
        try:
            selection = self.claims.keep(context, build)
        except exception.NoCapacity as error:
            self._lose_claim(context, build, error.message, found=found)
            return
        again = dataclasses.replace(build, attempt=build.attempt + 1, selection=selection)
        instance = self._move(build, again, found=found)
        if instance is None:
            self._follow(context, build.instance_uuid)
        else:
            LOG.info("[instance: %s] build restarted on %s", build.instance_uuid, build.host)
            self._notify_host(context, instance, again)

    def leave(
        self,
        context: RequestContext,
        build: builds.BuildRow,
        *,
        why: str,
        found: Mapping[str, object],
    ) -> None:
        """Take a build from its host, and move it to the next one.

        :param found: expected values of the instance's row
        """
        event = self._event("cell-conductor.sweep", result="Error", details=why)
        self.build_elsewhere(context, _failure(build, why, event, found))

    def abandon(self, context: RequestContext, failure: FailedAttempt) -> None:
        """End a build in ERROR, whose failure applies on every host."""
        build = self._note(failure)
        if build is not None:
            inside = f"Build failed: {_summary(build)}"
            reason = PlacementFailure(f"Build failed: {failure.reason}", inside)
            self._abandon(context, build, reason)

    @retried
    def _note(self, failure: FailedAttempt) -> builds.BuildRow | None:
        """Record a failure; return None when the instance was deleted or moved meanwhile."""
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
                actions.add_events(session, failure.instance_uuid, CREATE, failure.events)
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
            LOG.info(
                "[instance: %s] build rescheduled from %s to %s",
                build.instance_uuid,
                build.host,
                chosen.host,
            )
            self._notify_host(context, instance, following)

    def _follow(self, context: RequestContext, instance_uuid: str) -> None:
        """After another worker changed the instance: move its claim to its host, or release it."""
        with self.database.read() as session:
            instance = instances.find(session, instance_uuid)
            build = builds.find(session, instance_uuid)
        if instance is None or instance.host is None or instance.task_state == states.DELETING:
            self.claims.release(context, instance_uuid)
        elif build is not None:
            try:
                self.claims.keep(context, build)
            except exception.NoCapacity as error:
                LOG.warning(
                    "[instance: %s] has no claim on %s: %s", instance_uuid, build.host, error
                )

    def _notify_host(
        self, context: RequestContext, instance: Instance, build: builds.BuildRow
    ) -> None:
        self.compute.on(build.host).build_and_run_instance(
            context, instance=instance, request_spec=build.spec, selection=build.selection
        )

    def _move(
        self, build: builds.BuildRow, following: builds.BuildRow, *, found: Mapping[str, object]
    ) -> Instance | None:
        """Set instance and build to the next attempt, unless another worker was faster."""
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
        changes = {**_placed(following.selection), **_UNBEGUN, "attempt": following.attempt}
        with self.database.begin() as session:
            try:
                done = instances.update(
                    session,
                    build.instance_uuid,
                    changes,
                    expected={"attempt": build.attempt, **found},
                    at=at,
                )
            except (exception.Conflict, exception.NotFound):
                LOG.info("[instance: %s] deleted or moved meanwhile", build.instance_uuid)
                return None
            if done:
                builds.advance(session, following, from_attempt=build.attempt)
                moved = self._moved(build, following.host)
                actions.add_events(session, build.instance_uuid, CREATE, [moved])
            return guest_config.get_instance(session, build.instance_uuid)

    @retried
    def _put(self, build: builds.BuildRow, selection: Selection) -> Instance | None:
        """Record the new selection of an instance, unless its host has begun meanwhile.

        A message with another selection is invalid from now on: see ``begin_build``.
        """
        waiting = {
            "host": build.host,
            "attempt": build.attempt,
            "task_state": states.SCHEDULING,
        }
        with self.database.begin() as session:
            try:
                instances.update(session, build.instance_uuid, _placed(selection), expected=waiting)
            except (exception.Conflict, exception.NotFound):
                return None
            if selection != build.selection:
                builds.put(session, build.instance_uuid, selection)
            return guest_config.get_instance(session, build.instance_uuid)

    def _lose_claim(
        self,
        context: RequestContext,
        build: builds.BuildRow,
        why: str,
        *,
        found: Mapping[str, object],
    ) -> None:
        reason = f"The claim expired before the host began. {why}"
        event = self._event("cell-conductor.keep_claim", result="Error", details=reason)
        self.build_elsewhere(context, _failure(build, reason, event, found))

    def _moved(self, build: builds.BuildRow, host: str) -> InstanceActionEvent:
        details = f"from {build.host} to {host}"
        if host == build.host:
            details = f"again on {host}, whose lease of it expired"
        return self._event("cell-conductor.reschedule", result="Success", details=details)

    def _event(self, name: str, *, result: str, details: str) -> InstanceActionEvent:
        return instant_event(name, host=self.host, result=result, details=details)

    def _abandon(
        self, context: RequestContext, build: builds.BuildRow, why: PlacementFailure
    ) -> None:
        """Release claim and ports of a build, and set its row to ERROR, with a fault.

        :raises roost.exception.Unavailable: when its claim or its ports cannot be released now:
            then the sweeper tries again later
        """
        self.scheduler.release_claims(context, instance_uuids=[build.instance_uuid])
        self.outside_ports.free(build.instance_uuid)
        if not self._end(build, why, at=self.database.now()):
            self._follow(context, build.instance_uuid)
            return
        LOG.warning("[instance: %s] build failed for good: %s", build.instance_uuid, why.line)
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
                    session, build.instance_uuid, CREATE, [], finish=True, message=why.message
                )
        return True


def _placed(selection: Selection) -> dict[str, Any]:
    """Return the columns of an instance's row that a selection sets."""
    return {
        "host": selection.host,
        "node": selection.node,
        "availability_zone": selection.availability_zone,
        "numa_topology": selection.numa_topology,
        "pci": list(selection.pci),
        "allocations": dict(selection.allocations),
    }


def _attempts_used_up(build: builds.BuildRow) -> PlacementFailure:
    start, end = exception.NO_VALID_HOST, "Exceeded maximum number of attempts: "
    return PlacementFailure(
        f"{start}{_user_reasons(build)}{end}{_count(build)}.", f"{start}{end}{_summary(build)}"
    )


def _user_reasons(build: builds.BuildRow) -> str:
    """Return the reasons of the tried hosts for the user, each once."""
    reasons = dict.fromkeys(tried.user_reason for tried in build.tried if tried.user_reason)
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
    return TriedHost(
        host=failure.host, node=None, reason=failure.reason, user_reason=failure.user_reason
    )


def _payload(build: builds.BuildRow, message: str) -> BuildPayload:
    return BuildPayload(
        instance_uuid=build.instance_uuid,
        project_id=build.spec.project_id,
        attempt=build.attempt,
        host=build.host,
        reason=message,
    )
