"""Takes operations from step to step, and to their end.

Before: the API wrote the operation with its first step, and its task into the row of the server,
and cast to the host. A host ends a step by a report; ``roost/operations/advance.py`` says what
follows: the next step is written into the row and sent to its host, or the operation ends, with the
state of its server. The sweeper calls ``overdue`` when a host does not answer.

Only the operation's row says which host works on the server. So whoever dies, another conductor and
the same hosts go on from the row; and what a step does may be done again.
"""

import dataclasses
import datetime
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception, states
from roost.conductor.cell.interfaces import refuse_others
from roost.conductor.cell.liveness import COMPUTE
from roost.conductor.cell.operations.builds import NOWHERE, Builds
from roost.conductor.cell.operations.delete import Deletion
from roost.conductor.cell.operations.moves import Moving, ServerMoves, columns_at, vm_state_before
from roost.conductor.cell.operations.reports import (
    NO_GUEST,
    ObservedGuest,
    StepReport,
    note_error,
)
from roost.conductor.failures import instant_event
from roost.conductor.notifications import ServerNotifications
from roost.context import RequestContext
from roost.db.cell import (
    actions,
    guest_config,
    instances,
    left_behind,
    migrations,
    operations,
    services,
)
from roost.db.cell.operations import OverdueOperation, named
from roost.db.engine import Database, Session, retried
from roost.objects import ImageMeta, InstanceActionEvent, Operation, instance
from roost.objects.migration import BYTES
from roost.operations import advance, kinds, steps
from roost.operations.advance import Go, HostState, Next, Outcome, Stay
from roost.operations.steps import Ending
from roost.rpc.compute import Compute

LOG = logging.getLogger(__name__)
_ADVANCEABLE: Final = ("task_state", "image", "launched_at")


@dataclasses.dataclass(frozen=True)
class OperationOutcomes:
    """Carries out what follows after each step.

    :param host: the name of this conductor's host, for the instances' history
    """

    host: str
    database: Database
    builds: Builds
    moves: ServerMoves
    deletion: Deletion
    compute: Compute
    notifications: ServerNotifications

    def take_up(
        self, context: RequestContext, operation: Operation, *, seconds: float
    ) -> Operation | None:
        """Give a host a lease on its operation; None: it is over, or another host's.

        A host that is forced down gets none: the sweeper ends the operation, or goes on without it.

        Its image, its instance and its migration come with it, if the step reads them. A move that
        begins late has its claim made again; without capacity it is undone.

        :param seconds: the length of the lease
        """
        if kinds.get(operation.kind).builds:
            until = self.database.now() + datetime.timedelta(seconds=seconds)
            return operation if self.builds.take_up(operation, until=until) else None
        found = self._take_up(operation, seconds)
        if found is not None and self.moves.claims.may_have_expired(found):
            try:
                self.moves.keep_claim(context, found)
            except exception.NoCapacity as error:
                guest = ObservedGuest(operation.worker, states.NOSTATE, reason=error.message)
                self.end(context, operation, StepReport(guest, Outcome.FAILED))
                return None
            found = self._take_up(operation, seconds)
        if found is not None:
            self.notifications.begun(context, operation)
        return found

    @retried
    def _take_up(self, operation: Operation, seconds: float) -> Operation | None:
        until = self.database.now() + datetime.timedelta(seconds=seconds)
        kind = kinds.get(operation.kind)
        reads_instance = kind.step(operation.step).reads_instance
        with self.database.begin() as session:
            if not operations.take_up(session, operation, until=until):
                return None
            if not kind.is_move and not reads_instance:
                return operation
            found = operations.get(session, operation)
            if found is not None and found.params is not None:
                found.params = found.params.for_host()
            if found is not None and kind.is_move:
                found.migration = migrations.unfinished(session, found.instance_uuid)
            if found is not None and reads_instance:
                found.instance = guest_config.get_instance(session, found.instance_uuid)
            return found

    @retried
    def renew(
        self, host: str, held: Sequence[str], *, seconds: float, nothing_else: bool
    ) -> list[str]:
        """Renew a host's leases; return the operations that it has no more.

        A host that is forced down has none.
        """
        with self.database.begin() as session:
            if services.is_forced_down(session, host):
                return sorted(held)
            over = operations.renew(session, held, host=host, seconds=seconds)
            if nothing_else:
                operations.end_others(session, held, host=host)
                left_behind.renew(session, host)
        return sorted(over)

    def advance(self, operation: Operation, changes: Mapping[str, Any]) -> str | None:
        """Change the instance in the middle of a step: to its next task state, mostly.

        :returns: what its host is asked meanwhile; None: nothing

        :raises roost.exception.Conflict: when the operation is over, or another host's
        :raises roost.exception.Invalid: for a field that hosts may not change, or a task of another
        """
        kind = kinds.get(operation.kind)
        if kind.is_move:
            return self._note_copied(operation, changes)
        refuse_others("changes", changes, _ADVANCEABLE)
        if changes["task_state"] not in kind.tasks:
            raise exception.Invalid(f"{kind} has no task state {changes['task_state']}")
        self._advance(operation, changes)
        return None

    @retried
    def _advance(self, operation: Operation, changes: Mapping[str, Any]) -> None:
        uuid, kind = operation.instance_uuid, kinds.get(operation.kind)
        expected = {"host": operation.host, "task_state": kind.tasks}
        with self.database.begin() as session:
            if "image" in changes:
                name = _root_name(session, uuid, changes["image"])
                changes = {**changes, "root_device_name": name}
            instances.update(session, uuid, changes, expected=expected)
            operations.check(session, operation)

    @retried
    def _note_copied(self, operation: Operation, copied: Mapping[str, int]) -> str | None:
        """Note in its migration how many bytes of a moving guest are copied."""
        refuse_others("changes", copied, BYTES)
        with self.database.begin() as session:
            asked = operations.asked(session, operation)
            migrations.note_copied(session, operation.instance_uuid, copied)
        return asked

    def note_obeyed(self, context: RequestContext, operation: Operation, asked: str) -> None:
        """Notify that the host of a live migration aborts it, or makes it end soon, as asked.

        :raises roost.exception.Conflict: when the operation is over, or another host's
        :raises roost.exception.Invalid: when nobody has asked for that
        """
        with self.database.read() as session:
            if operations.asked(session, operation) != asked:
                raise exception.Invalid(f"nobody has asked for {asked!r}")
        self.notifications.obeyed(context, operation, asked)

    def end(self, context: RequestContext, operation: Operation, report: StepReport) -> None:
        """Take an operation to its next step, or to its end, after the report of its host.

        :raises roost.exception.Conflict: when it is over, or in another step
        :raises roost.exception.NotFound: when the instance does not exist
        """
        following = advance.after(
            kinds.get(operation.kind),
            operation.step,
            report.outcome,
            has_guest=report.found.power_state is not None,
        )
        self._go_on(context, operation, following, report)

    def overdue(self, context: RequestContext, overdue: OverdueOperation, *, is_down: bool) -> None:
        """Go on with an operation whose host has not renewed its lease.

        :param context: of its request, in the name of the server's project
        :param is_down: whether the host is certainly down
        """
        kind, operation = kinds.get(overdue.kind), named(overdue)
        if kind.builds and not is_down and overdue.task_state == kind.first:
            self.builds.repeat(context, overdue)  # no host has begun it: this is no try
            return
        what = advance.overdue(
            kind,
            overdue.step,
            tries=overdue.tries,
            host=operation.host or "",
            is_host=self._state_of(overdue) if is_down else HostState.UP,
            handover=overdue.handover,
        )
        if what.next is Stay.REPEAT:
            if kind.builds:
                self.builds.repeat(context, overdue)
            elif overdue.host is None:  # it was on none any more when its user deleted it
                self.deletion.finish(context, operation, [], expected=_own(overdue))
            else:
                self._resend(context, overdue)
            return
        if what.next is Stay.WAIT:
            LOG.warning("[instance: %s] %s (%s) waits for %s, which is down: force it down if it is"
                        " off for good", overdue.instance_uuid, kind, overdue.step,
                        overdue.host)  # fmt: skip
            return
        assert overdue.host is not None, "else it is repeated"
        event = self._event("give_up", str(what.why))
        # A server that stays on its host is not left behind there.
        if (what.skips and (kind.is_move or kind.deletes)) or (is_down and kind.builds):
            self.database.write(left_behind.note, overdue.instance_uuid, overdue.host)
        if what.skips:
            why = f"Without {overdue.host}, which removes what it has when it is up again."
            event = instant_event(
                "cell-conductor.skip", host=self.host, result="Success", details=why
            )
        LOG.warning("[instance: %s] %s (%s) goes on without %s: %s", overdue.instance_uuid, kind,
                    overdue.step, overdue.host, event.details)  # fmt: skip
        found = ObservedGuest(overdue.host, None, events=[event], reason=what.why)
        outcome = Outcome.DONE if what.skips else Outcome.LOST
        report = StepReport(found, outcome, handover=what.handover, details=what.why)
        self._go_on(context, operation, what.next, report, overdue=overdue)

    def send(self, context: RequestContext, operation: Operation) -> None:
        """Cast a step to its host; the sweeper sends a lost message again."""
        try:
            told = operation if operation.given is not None else named(operation)
            self.compute.on(operation.worker).run(context, operation=told)
        except exception.Unavailable as error:
            LOG.warning("[instance: %s] cast of %s to host %s failed, the sweeper resends it: %s",
                        operation.instance_uuid, operation.kind, operation.host, error)  # fmt: skip

    def _resend(self, context: RequestContext, overdue: OverdueOperation) -> None:
        operation = named(overdue)
        self.compute.on(operation.worker).run(context, operation=operation)
        LOG.info("[instance: %s] %s (%s) resent to %s", overdue.instance_uuid, overdue.kind,
                 overdue.step, overdue.host)  # fmt: skip
        if overdue.tries < kinds.get(overdue.kind).tries:  # then its history has enough of it
            why = f"{overdue.host} did not go on with {overdue.step}; it was sent there again"
            self.database.write(operations.note_try, overdue, self._event("resend", why))

    def _state_of(self, overdue: OverdueOperation) -> HostState:
        """Return whether an operator has forced a host down, so that no guest runs there.

        Where a server is resized on its own host, there is no other that could go on.
        """
        with self.database.read() as session:
            hosts = [named(overdue).worker]
            known = services.list_services(session, hosts=hosts, binary=COMPUTE)
            migration = migrations.unfinished(session, overdue.instance_uuid)
        fenced = any(service.forced_down for service in known)
        goes_on = migration is not None and not migration.stays_on_host
        return HostState.FENCED if fenced and goes_on else HostState.DOWN

    def _go_on(
        self,
        context: RequestContext,
        operation: Operation,
        following: Next,
        report: StepReport,
        *,
        overdue: OverdueOperation | None = None,
    ) -> None:
        kind, reason = kinds.get(operation.kind), report.found.reason
        if kind.builds:
            self.builds.go_on(context, operation, following, report, overdue=overdue)
            return
        if isinstance(following, Stay):
            self._note_failure(operation, report)
            return
        if isinstance(following, Go):
            gives = not self.notifications.notifier.enabled  # else hosts have to ask
            sent = self.moves.write_step(operation, following.step, report, gives=gives)
            self.notifications.ended(context, operation, reason)
            self.send(context, sent)
            return
        moving = self.moves.read(operation) if kind.is_move else None
        self._settle_claims(context, operation, following.ending, moving)
        if moving is not None:
            again = self.moves.begin_again(context, operation, moving, report)
            if again is not None:
                self.send(context, again)
                return
        own = _own(operation if overdue is None else overdue)
        if kind.deletes:
            self.deletion.finish(context, operation, report.found.events, expected=own)
            self.notifications.ended(context, operation, None)
            return
        vm_state = self._write_end(operation, following.ending, report, moving, own)
        if vm_state == states.ERROR:
            reason = reason or NO_GUEST
        elif kind.repeated_until_done:  # it has come to its end in any case
            reason = None
        self.notifications.ended(context, operation, reason)

    def _settle_claims(
        self, context: RequestContext, operation: Operation, ending: Ending, moving: Moving | None
    ) -> None:
        """Release what was claimed for where the server will not be, before its end is written."""
        if moving is not None:
            self.moves.settle_claims(context, ending, moving)
        if ending.leaves_host:
            uuid, host = operation.instance_uuid, operation.host
            self.builds.claims.release(context, uuid, host=host)

    @retried
    def _note_failure(self, operation: Operation, report: StepReport) -> None:
        with self.database.begin() as session:
            tries = operations.check(session, operation)
            if tries < kinds.get(operation.kind).tries:  # then its history has enough of it
                actions.add_to_operation(session, operation.uuid, report.found.events)
        LOG.warning("[instance: %s] %s (%s) failed on %s, and is repeated: %s",
                    operation.instance_uuid, operation.kind, operation.step, operation.host,
                    report.found.reason)  # fmt: skip

    @retried
    def _write_end(
        self,
        operation: Operation,
        ending: Ending,
        report: StepReport,
        moving: Moving | None,
        own: Mapping[str, Any],
    ) -> str | None:
        """End the operation, with the state of its server; return the vm state, if it is new.

        One that has been given up ends even if its server has another task by now.

        :param own: what the operation's row must have
        """
        uuid, kind = operation.instance_uuid, kinds.get(operation.kind)
        expected: dict[str, Any] = {"task_state": kind.tasks} if kind.tasks else {}
        if moving is None:
            expected["host"] = operation.host
        events, message = report.found.events, report.found.reason
        is_overdue = "lease_until" in own
        with self.database.begin() as session:
            changes = self._changes(session, ending, report, moving)
            if not kind.tasks:
                del changes["task_state"]
            try:
                instances.update(session, uuid, changes, expected=expected)
            except (exception.Conflict, exception.NotFound):
                if not is_overdue or moving is not None:
                    raise
                changes = {}
            if changes.get("vm_state") == states.ERROR:
                before = actions.events_of(session, operation.uuid) if is_overdue else []
                note_error(session, uuid, report.found, events=[*before, *events])
            if ending.leaves_host and (is_overdue or report.outcome is not Outcome.DONE):
                left_behind.note(session, uuid, str(operation.host))
            if moving is not None:
                message = self.moves.write_end(session, ending, moving, report.outcome)
            operations.end(
                session, operation.uuid, events, expected=own, message=message, code=report.code
            )
        LOG.info("[instance: %s] %s ended: %s", uuid, kind, changes.get("vm_state", "as before"))
        vm_state: str | None = changes.get("vm_state")
        return vm_state

    def _changes(
        self, session: Session, ending: Ending, report: StepReport, moving: Moving | None
    ) -> dict[str, Any]:
        """Return the changes of the instance's row at the end of an operation."""
        found = report.found
        vm_state: str | None = ending.vm_state
        changes: dict[str, Any] = {"task_state": None}
        if report.network_info is not None:
            changes["network_info"] = report.network_info
        if vm_state == steps.UNCHANGED:
            return changes
        if vm_state == steps.LAST_REPORTED:
            assert moving is not None, "else its host has reported it now"
            power_state = instances.get(session, moving.migration.instance_uuid).power_state
            return changes | {"vm_state": states.AS_FOUND.get(power_state, states.ACTIVE)}
        if report.outcome is not Outcome.LOST:
            changes["power_state"] = found.power_state or states.NOSTATE
        if vm_state == steps.FOUND:
            otherwise = ending.otherwise
            if otherwise == steps.BEFORE_THE_MOVE and moving is not None:
                otherwise = vm_state_before(moving.migration)
            vm_state = found.vm_state or otherwise
        if vm_state is not None:
            changes["vm_state"] = vm_state
        if ending.side is not None and moving is not None:
            changes |= columns_at(ending.side, moving.migration)
        if ending.leaves_host:
            changes |= NOWHERE
        return changes

    def _event(self, name: str, details: str) -> InstanceActionEvent:
        name = f"cell-conductor.{name}"
        return instant_event(name, host=self.host, result="Error", details=details)


def _own(operation: Operation | OverdueOperation) -> dict[str, Any]:
    """Return what the row of an operation must have at its end."""
    own = {name: getattr(operation, name) for name in ("instance_uuid", "kind", "host", "step")}
    if isinstance(operation, OverdueOperation):
        own["lease_until"] = operation.lease_until  # its host has not renewed it meanwhile
    return own


def _root_name(session: Session, instance_uuid: str, image: ImageMeta | None) -> str:
    """Return the device name of the root disk, for another image."""
    given = guest_config.find(session, instance_uuid)
    return instance.name_by(given.block_devices if given else (), image)
