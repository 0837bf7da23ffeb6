"""Builds: from the first host to the next one, until the server is there or is in ERROR.

Before: ``conductor/super/boot.py`` wrote the operation with its instance, and cast to the host.
After: ``compute/operations/build.py`` on the next host (or again on the same one), by cast; or the
server is ACTIVE; or in ERROR, with a fault that says what its user can change, or how many hosts
were tried; its details name every host and its failure, for administrators.

A build that has failed on a host is in the step of a conductor, which finds the next one. Calls to
the scheduler come before changes of the row: if the conductor dies in between, the sweeper comes
here again, and moves or releases the same claim once more.
"""

import dataclasses
import datetime
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception, states
from roost.conductor.cell.operations.claims import BuildClaims, WantedBuild
from roost.conductor.cell.operations.delete import NONE, ExternalPorts
from roost.conductor.cell.operations.reports import ObservedGuest, StepReport
from roost.conductor.failures import PlacementFailure, instant_event
from roost.conductor.notifications import ServerNotifications
from roost.context import RequestContext
from roost.db.cell import (
    actions,
    faults,
    guest_config,
    instances,
    operations,
    ports,
)
from roost.db.cell.operations import OverdueOperation, named
from roost.db.engine import Database, retried
from roost.db.types import utcnow
from roost.objects import (
    BuildPayload,
    Instance,
    InstanceActionEvent,
    Operation,
    OperationParams,
    Selection,
    TriedHost,
)
from roost.operations import kinds
from roost.operations.advance import Go, Next, Outcome
from roost.rpc.compute import Compute
from roost.scheduler.client import CellSchedulerClient

LOG = logging.getLogger(__name__)
_BEGUN: Final = (states.NETWORKING, states.SPAWNING)
NOWHERE: Final[dict[str, Any]] = {
    **dict.fromkeys(("host", "node", "availability_zone", "numa_topology")),
    "pci": [],
    "allocations": {},
}


@dataclasses.dataclass(frozen=True)
class Builds:
    """Begins and ends builds, and finds another host of this cell for those that fail.

    :param host: the name of this conductor's host, for the instance's history
    :param max_attempts: number of hosts that an instance is tried on before it ends in ERROR
    :param seconds: until when a host, or a conductor, must have begun a step
    """

    host: str
    database: Database
    scheduler: CellSchedulerClient
    compute: Compute
    notifications: ServerNotifications
    max_attempts: int
    seconds: float
    outside_ports: ExternalPorts = NONE

    @property
    def claims(self) -> BuildClaims:
        notifier = self.notifications.notifier
        return BuildClaims(self.database, self.scheduler, notifier, self.max_attempts)

    def take_up(self, build: Operation, *, until: datetime.datetime) -> bool:
        """Give a host its lease on a build; False: it is over, elsewhere, or in another attempt.

        Nothing begins on a host that is forced down: the sweeper takes the build elsewhere.
        """
        try:
            return self._take_up(build, until)
        except exception.Conflict:
            return False

    @retried
    def _take_up(self, build: Operation, until: datetime.datetime) -> bool:
        uuid, start = str(build.instance_uuid), utcnow()
        with self.database.begin() as session:
            first = states.NETWORKING if instances.has_networks(session, uuid) else states.SPAWNING
            unbegun = {name: getattr(build, name) for name in ("host", "attempt")}
            unbegun["task_state"] = states.SCHEDULING
            is_first = True
            try:
                instances.update(session, uuid, {"task_state": first}, expected=unbegun)
            except (exception.Conflict, exception.NotFound):
                is_first = False  # it is asked again, or the build is over: its row knows
            if not operations.take_up(session, build, until=until):
                raise _is_over(build)
            if is_first:
                event = InstanceActionEvent(
                    event="cell-conductor.begin_build",
                    host=self.host,
                    start_time=start,
                    finish_time=utcnow(),
                    result="Success",
                    details=f"on {build.host}",
                )
                actions.add_to_operation(session, build.uuid, [event])
        return True

    def go_on(
        self,
        context: RequestContext,
        build: Operation,
        following: Next,
        report: StepReport,
        *,
        overdue: OverdueOperation | None = None,
    ) -> None:
        """Carry out what follows after the report of a host, or without one.

        :raises roost.exception.Conflict: when the build is over, elsewhere, or in another attempt
        :raises roost.exception.NotFound: when the instance does not exist
        """
        if report.outcome is Outcome.DONE:
            self._write_end(build, report, at=self.database.now())
            self.notifications.built(context, str(build.instance_uuid))
            return
        why = report.details or report.found.reason or ""
        LOG.warning("[instance: %s] build (attempt %d) failed on %s: %s",
                    build.instance_uuid, build.attempt, build.host, why)  # fmt: skip
        shown = None if overdue is not None else report.found.reason
        tried = TriedHost.of(host=build.host, node=None, reason=why, user_reason=shown)
        final = None if isinstance(following, Go) else why
        failed = self._note_failure(build, tried, report.found.events, overdue, final=final)
        if failed is None:  # it was reported before: whoever heard that goes on, or the sweep
            return
        try:
            self.place(context, failed)
        except exception.Unavailable as error:  # its host need not wait for that
            LOG.warning("[instance: %s] build is placed by the next sweep: %s",
                        build.instance_uuid, error.message)  # fmt: skip

    def place(self, context: RequestContext, build: Operation) -> None:
        """Find the next host for a build that has failed on one, or end it; repeatable."""
        if build.reason is not None:
            inside = f"Build failed: {_summary(build)}"
            self._abandon(context, build, PlacementFailure(f"Build failed: {build.reason}", inside))
            return
        if len(WantedBuild.of(build).tried) >= self.max_attempts:
            self._abandon(context, build, _attempts_used_up(build))
            return
        try:
            chosen, alternates = self.claims.take_next(context, build)
        except exception.NoValidHost as error:
            reason = PlacementFailure.refused(
                error,
                first=_user_reasons(build),
                and_so=f". {_count(build)} before.",
                inside=f". Hosts tried: {_summary(build)}",
            )
            self._abandon(context, build, reason)
            return
        params = _params(build).but(selection=chosen, alternates=list(alternates))
        event = self._event("reschedule", f"from {_left(build)} to {chosen.host}")
        same = operations.SAME_TRIES
        instance = self._write_attempt(build, chosen, event, params=params, tries=same)
        if instance is None:
            self._follow(context, build)
            return
        LOG.info("[instance: %s] build rescheduled from %s to %s",
                 build.instance_uuid, _left(build), chosen.host)  # fmt: skip
        self._send(context, build, instance, chosen, attempt=build.attempt + 1)

    def repeat(self, context: RequestContext, overdue: OverdueOperation) -> None:
        """Go on with a build whose host is up, but let its lease expire.

        A message of the attempt before means nothing from now on, if that was begun, or its claim
        expired and others have its resources. Without capacity, the next host gets the build.
        """
        found = self._read(overdue)
        if found is None:
            return
        build, instance = found
        if build.host is None:
            self.place(context, build)
            return
        try:
            selection = self.claims.keep(context, build)
        except exception.NoCapacity as error:
            why = f"The claim expired before the host began. {error.message}"
            event = self._event("keep_claim", why, result="Error")
            lost = ObservedGuest(build.host, None, events=[event])
            step = kinds.get(build.kind).step(build.step)
            assert step.elsewhere is not None, "it is a build"
            report = StepReport(lost, Outcome.FAILED, details=why)
            self.go_on(context, build, Go(step.elsewhere), report, overdue=overdue)
            return
        params, attempt = _params(build), build.attempt
        begun = instance.task_state != states.SCHEDULING
        if begun or selection != params.selection:
            what = "lease" if begun else "claim"
            again = self._write_attempt(
                build,
                selection,
                self._event("reschedule", f"again on {build.host}, whose {what} of it expired"),
                overdue=overdue,
                params=params.but(selection=selection),
                tries=overdue.tries + begun,
            )
            if again is None:
                self._follow(context, build)
                return
            instance, attempt = again, attempt + 1
        elif self._read(overdue) is None:  # its host has begun meanwhile
            return
        LOG.info("[instance: %s] build sent to %s again", build.instance_uuid, build.host)
        self._send(context, build, instance, selection, attempt=attempt)

    def _send(
        self,
        context: RequestContext,
        build: Operation,
        instance: Instance,
        selection: Selection,
        *,
        attempt: int,
    ) -> None:
        """Cast a build to its host; the sweeper sends a lost message again."""
        sent = {"host": selection.host, "step": kinds.get(build.kind).steps[0].name}
        try:
            self.compute.on(selection.host).build_and_run_instance(
                context,
                operation=named(build, attempt=attempt, **sent),
                instance=instance,
                request_spec=WantedBuild.of(build).spec,
                selection=selection,
            )
        except exception.Unavailable as error:
            LOG.warning("[instance: %s] cast of the build to host %s failed, the sweeper resends"
                        " it: %s", build.instance_uuid, selection.host, error.message)  # fmt: skip

    @retried
    def _note_failure(
        self,
        build: Operation,
        tried: TriedHost,
        events: Sequence[InstanceActionEvent],
        overdue: OverdueOperation | None,
        *,
        final: str | None,
    ) -> Operation | None:
        """Take a build from its host into the step of a conductor; return it.

        :param final: why every host would fail
        :returns: None: its failure was noted before
        """
        uuid, kind = str(build.instance_uuid), kinds.get(build.kind)
        step = kind.step(build.step).elsewhere
        assert step is not None, "it is a build"
        with self.database.begin() as session:
            found = operations.find_build(session, uuid)
            if found is None or (found.uuid, found.attempt) != (build.uuid, build.attempt):
                raise _is_over(build)
            if found.step == step.name:
                return None
            params = _params(found)
            params = params.but(tried=[*params.tried, tried])
            expected = {"host": build.host, "attempt": build.attempt, "task_state": kind.tasks}
            instances.update(session, uuid, {"task_state": step.task}, expected=expected)
            operations.go_on(
                session,
                build,
                step,
                events,
                host=None,
                until=self._until(),
                expected=_leased(overdue),
                params=params,
                reason=final,
                tries=operations.SAME_TRIES,
            )
        names = {name: getattr(found, name) for name in operations.NAMES}
        placed = {"host": None, "step": step.name}
        return Operation.of(**names | placed, params=params, reason=final)

    def _write_attempt(
        self,
        build: Operation,
        selection: Selection,
        event: InstanceActionEvent,
        *,
        overdue: OverdueOperation | None = None,
        **values: Any,
    ) -> Instance | None:
        """Write the next attempt of a build; None: another worker was faster.

        :param values: other columns of its row
        """
        at = self.database.now()
        try:
            return self._write_attempt_at(build, selection, event, values, overdue, at=at)
        except (exception.Conflict, exception.NotFound):
            LOG.info("[instance: %s] deleted or moved meanwhile", build.instance_uuid)
            return None

    @retried
    def _write_attempt_at(
        self,
        build: Operation,
        selection: Selection,
        event: InstanceActionEvent,
        values: Mapping[str, Any],
        overdue: OverdueOperation | None,
        *,
        at: datetime.datetime,
    ) -> Instance:
        uuid, step = str(build.instance_uuid), kinds.get(build.kind).steps[0]
        attempt = build.attempt + 1
        changes = {**selection.place, "task_state": step.task, "attempt": attempt}
        with self.database.begin() as session:
            if instances.update(session, uuid, changes, expected={"attempt": build.attempt}, at=at):
                operations.go_on(
                    session,
                    build,
                    step,
                    [event],
                    host=selection.host,
                    until=self._until(),
                    expected=_leased(overdue),
                    attempt=attempt,
                    **values,
                )
            return guest_config.get_instance(session, uuid)

    def _read(self, overdue: OverdueOperation) -> tuple[Operation, Instance] | None:
        """Return a build and its instance, if both are as the sweep found them."""
        with self.database.read() as session:
            build = operations.get(session, named(overdue), expected=_leased(overdue))
            if build is None:
                return None
            return build, guest_config.get_instance(session, overdue.instance_uuid)

    def _follow(self, context: RequestContext, build: Operation) -> None:
        """After another worker changed the instance: move its claim to its host, or release it."""
        uuid = str(build.instance_uuid)
        with self.database.read() as session:
            instance = instances.find(session, uuid)
            found = operations.find_build(session, uuid)
        if instance is None or instance.host is None or instance.task_state == states.DELETING:
            self.claims.release(context, uuid)
        elif found is not None:
            try:
                self.claims.keep(context, found)
            except exception.NoCapacity as error:
                LOG.warning("[instance: %s] has no claim on %s: %s", uuid, instance.host, error)

    @retried
    def _write_end(self, build: Operation, report: StepReport, *, at: datetime.datetime) -> None:
        """Write that a build has ended well."""
        uuid, kind = str(build.instance_uuid), kinds.get(build.kind)
        changes = {
            "vm_state": kind.done.vm_state,
            "task_state": None,
            "power_state": report.found.power_state or states.NOSTATE,
            "launched_at": at,
            "network_info": report.network_info,
        }
        if report.config_drive:
            changes["config_drive"] = True
        mine = {"host": build.host, "attempt": build.attempt}
        with self.database.begin() as session:
            expected = mine | {"task_state": _BEGUN}
            if instances.update(session, uuid, changes, expected=expected, at=at):
                events = report.found.events
                operations.end(session, build.uuid, events, expected=mine, message=None)
                guest_config.forget_password(session, uuid)

    def _abandon(self, context: RequestContext, build: Operation, why: PlacementFailure) -> None:
        """Release claim and ports of a build, and set its row to ERROR, with a fault.

        :raises roost.exception.Unavailable: when its claim or its ports cannot be released now:
            then the sweeper tries again later
        """
        uuid = str(build.instance_uuid)
        if not self.database.query(operations.is_under_way, build):  # another has found a host
            self._follow(context, build)
            return
        self.scheduler.release_claims(context, instance_uuids=[uuid])
        self.outside_ports.free(uuid)
        try:
            self._write_error(build, why, at=self.database.now())
        except (exception.Conflict, exception.NotFound):
            self._follow(context, build)
            return
        LOG.warning("[instance: %s] build failed for good: %s", uuid, why.line)
        payload = BuildPayload(
            instance_uuid=uuid,
            project_id=WantedBuild.of(build).spec.project_id,
            attempt=build.attempt,
            host=_left(build),
            reason=why.counted,
        )
        self.notifications.notifier.error(context, "instance.create.error", payload)

    @retried
    def _write_error(
        self, build: Operation, why: PlacementFailure, *, at: datetime.datetime
    ) -> None:
        uuid = str(build.instance_uuid)
        changes = {"vm_state": states.ERROR, "task_state": None, **NOWHERE}
        mine = {"host": None, "attempt": build.attempt}
        with self.database.begin() as session:
            expected = {"attempt": build.attempt, "task_state": states.SCHEDULING}
            if instances.update(session, uuid, changes, expected=expected, at=at):
                ports.free(session, uuid)
                guest_config.forget_secrets(session, uuid)
                faults.add(session, why.fault(uuid, host=_left(build)))
                operations.end(session, build.uuid, [], expected=mine, message=why.message)

    def _event(self, name: str, details: str, *, result: str = "Success") -> InstanceActionEvent:
        return instant_event(
            f"cell-conductor.{name}", host=self.host, result=result, details=details
        )

    def _until(self) -> datetime.datetime:
        return self.database.now() + datetime.timedelta(seconds=self.seconds)


def _params(build: Operation) -> OperationParams:
    assert build.params is not None, "it is as its row is"
    return build.params


def _leased(overdue: OverdueOperation | None) -> dict[str, Any]:
    """Return what the row has, unless its host has renewed its lease meanwhile."""
    return {} if overdue is None else {"lease_until": overdue.lease_until}


def _left(build: Operation) -> str:
    """Return the host that a build has failed on last."""
    return str(WantedBuild.of(build).tried[-1].host)


def _attempts_used_up(build: Operation) -> PlacementFailure:
    start, end = exception.NO_VALID_HOST, "Exceeded maximum number of attempts: "
    return PlacementFailure(
        f"{start}{_user_reasons(build)}{end}{_count(build)}.", f"{start}{end}{_summary(build)}"
    )


def _user_reasons(build: Operation) -> str:
    """Return the reasons of the tried hosts for the user, each once."""
    tried = _params(build).tried
    return "".join(
        f"{reason} "
        for reason in dict.fromkeys(one.user_reason for one in tried if one.user_reason)
    )


def _count(build: Operation) -> str:
    many = len(WantedBuild.of(build).tried)
    return f"{many} host{' was' if many == 1 else 's were'} tried"


def _summary(build: Operation) -> str:
    return "; ".join(f"{tried.host}: {tried.reason}" for tried in WantedBuild.of(build).tried)


def _is_over(build: Operation) -> exception.Conflict:
    return exception.Conflict(f"The build {build.uuid} is over, or not in that attempt any more.")
