"""Moves of servers between hosts: each step is the work of one host, and this decides the next one.

Before: the scheduler has claimed the destination beside the source, and the API has written the
operation with its first step, and the migration, and cast to the first host. A host ends its step
by a report; then the next step is written into the row and sent to its host, or the move ends. A
step that failed begins the way back; the sweeper sends a step again to a host that does not answer.

Only the operation's row says which host works on the server. So whoever dies, another conductor and
the same hosts go on from the row; and what a step does may be done again.

A destination that refuses the server in the first step is replaced by another one. The steps of a
host that is fenced are skipped: what it may have of the server is noted as left behind, and it
removes that when it is up again.

At the end the server has one claim, unless it waits for its user: then it is on the destination,
and keeps both. On the same host it is one claim, for the larger of both flavors meanwhile.
"""

import dataclasses
import datetime
import logging
from typing import Any, Final

from roost import exception, states
from roost.conductor.cell.liveness import COMPUTE
from roost.conductor.cell.move_claims import MoveClaims
from roost.conductor.cell.operation_outcomes import ObservedGuest
from roost.conductor.failures import instant_event
from roost.conductor.notifications import ServerNotifications
from roost.context import RequestContext, project_context
from roost.db.cell import (
    guest_config,
    instances,
    left_behind,
    migrations,
    operations,
    services,
)
from roost.db.cell.operations import OverdueOperation
from roost.db.engine import Database, Session, retried
from roost.objects import (
    InstancePlace,
    Migration,
    NetworkInfo,
    Operation,
    RequestSpec,
    Selection,
)
from roost.objects.migration import (
    CONFIRMED,
    CONFIRMING,
    FAILED,
    FINISHED,
    MIGRATING,
    REVERTED,
    REVERTING,
)
from roost.operations import kinds
from roost.operations.kinds import CONFIRM_RESIZE, DESTINATION, REVERT_RESIZE, SOURCE, MoveStep
from roost.rpc.compute import Compute

LOG = logging.getLogger(__name__)
_UNDER_WAY: Final = (MIGRATING, FINISHED, CONFIRMING, REVERTING)


@dataclasses.dataclass(frozen=True)
class StepReport:
    """The end of a step, as its host reports it.

    ``handover``: what the destination has prepared for the source, as JSON. ``network_info``: the
    interfaces as the host has plugged them.
    """

    found: ObservedGuest
    handover: str | None = None
    network_info: NetworkInfo | None = None


@dataclasses.dataclass(frozen=True)
class ServerMoves:
    """Takes moves from step to step.

    :param host: the name of this conductor's host, for the instances' history
    :param seconds: until when a host must have begun a step
    """

    host: str
    database: Database
    claims: MoveClaims
    compute: Compute
    notifications: ServerNotifications
    seconds: float

    def keep_claim(self, context: RequestContext, operation: Operation) -> bool:
        """Claim the destination of a move again; if there is no capacity any more, undo it.

        :returns: whether the move may begin
        """
        try:
            return self.claims.keep(context, operation)
        except exception.NoCapacity as error:
            found = ObservedGuest(operation.host, states.NOSTATE, reason=error.message)
            self.end_step(context, operation, StepReport(found))
            return False

    def end_step(self, context: RequestContext, operation: Operation, report: StepReport) -> None:
        """Take a move to its next step, or to its end, after the report of its host.

        :raises roost.exception.Conflict: when it is over, or in another step
        :raises roost.exception.NotFound: when the instance does not exist
        """
        kind, failed = kinds.get(operation.kind), report.found.reason is not None
        name = str(operation.step)
        step = kind.undoing(name) if failed else kind.following(name)
        if step is None and failed:
            self._migration(operation)
            LOG.warning("[instance: %s] %s (%s) failed on %s, and is repeated: %s",
                        operation.instance_uuid, kind, name, operation.host,
                        report.found.reason)  # fmt: skip
            return
        self._go_on(context, operation, step, report)

    def host_is_up(self, overdue: OverdueOperation) -> None:
        """Send a step to its host again; one that it did not do, however often, has failed.

        A step that cannot be undone is sent without end: the server may run there, or have its
        only disk there.
        """
        kind, operation = kinds.get(overdue.kind), _of(overdue)
        step = kind.step(str(overdue.step))
        if overdue.tries < kind.tries:
            self._resend(overdue, operation)
        elif kind.undoing(step.name) is not None:
            why = f"{overdue.host} did not do it: it was sent there {kind.tries + 1} times."
            self._undo(overdue, operation, why)
        elif step.when_down:
            self._go_on_without(overdue, operation)
        else:  # its history has enough of it
            LOG.warning("[instance: %s] %s (%s) is not done by %s, and is sent there again",
                        overdue.instance_uuid, overdue.kind, step.name, overdue.host)  # fmt: skip
            self.send(_context(overdue), operation)

    def host_is_down(self, overdue: OverdueOperation) -> None:
        """Undo the move, if its step can be undone, or go on without the step, or wait.

        A guest may run on a host that is only down; none does on one that is fenced.
        """
        kind, operation = kinds.get(overdue.kind), _of(overdue)
        step = kind.step(str(overdue.step))
        if kind.undoing(step.name) is not None:
            self._undo(overdue, operation, f"The host {overdue.host} went down.")
        elif step.when_down or self._is_fenced(overdue):
            self._go_on_without(overdue, operation)
        else:
            LOG.warning("[instance: %s] %s (%s) waits for %s, which is down: force it down if it is"
                        " off for good", overdue.instance_uuid, overdue.kind, step.name,
                        overdue.host)  # fmt: skip

    def _is_fenced(self, overdue: OverdueOperation) -> bool:
        """Return whether an operator has forced a host down, so that no guest runs there.

        Where a server is resized on its own host, there is no other that could go on.
        """
        with self.database.read() as session:
            known = services.list_services(session, hosts=[overdue.host], binary=COMPUTE)
            migration = migrations.unfinished(session, overdue.instance_uuid)
        fenced = any(service.forced_down for service in known)
        return fenced and migration is not None and not migration.stays_on_host

    def _undo(self, overdue: OverdueOperation, operation: Operation, why: str) -> None:
        """Begin the way back, because a step cannot be done."""
        event = instant_event("cell-conductor.give_up", host=self.host, result="Error", details=why)
        found = ObservedGuest(overdue.host, states.NOSTATE, events=[event], reason=why)
        step = kinds.get(overdue.kind).undoing(str(overdue.step))
        self._go_on(_context(overdue), operation, step, StepReport(found))

    def _go_on_without(self, overdue: OverdueOperation, operation: Operation) -> None:
        """Go on without a step, whose host removes what is left when it reads the rows again."""
        self.database.write(left_behind.note, overdue.instance_uuid, overdue.host)
        why = f"Without {overdue.host}, which removes what it has when it is up again."
        LOG.warning("[instance: %s] %s goes on without %s on %s, which is down",
                    overdue.instance_uuid, overdue.kind, overdue.step, overdue.host)  # fmt: skip
        event = instant_event("cell-conductor.skip", host=self.host, result="Success", details=why)
        step = kinds.get(overdue.kind).following(str(overdue.step))
        found = ObservedGuest(overdue.host, states.NOSTATE, events=[event])
        self._go_on(_context(overdue), operation, step, StepReport(found))

    def _go_on(
        self,
        context: RequestContext,
        operation: Operation,
        step: MoveStep | None,
        report: StepReport,
    ) -> None:
        following = None
        if step is not None:
            following = self._write_step(operation, step, report)
        elif (stays_at := _stays_at(operation)) is not None:
            migration = self._migration(operation)
            self.claims.release(context, migration, stays_at)
            following = self._try_another(context, operation, migration, report)
        else:
            self.claims.confirm(context, operation)
        if step is None and following is None:
            self._write_end(operation, report)
        if step is not None or following is None:  # else it is not back: it begins again
            self.notifications.ended(context, operation, report.found.reason)
        if following is not None:
            self.send(context, following)

    def _migration(self, operation: Operation) -> Migration:
        """Return the migration of a move that still is in this step.

        :raises roost.exception.Conflict: when it is over, or in another step
        """
        with self.database.read() as session:
            is_current = operations.is_under_way(session, operation)
            found = migrations.unfinished(session, operation.instance_uuid)
        if found is None or not is_current:
            raise _is_over(operation)
        return found

    def _try_another(
        self,
        context: RequestContext,
        operation: Operation,
        migration: Migration,
        report: StepReport,
    ) -> Operation | None:
        """Begin again with another destination, if the last one refused the server.

        :returns: the operation with its first step there; None: it ends
        """
        if not _is_undone(operation):
            return None
        chosen = self.claims.choose_another(context, operation, migration)
        return self._begin_again(operation, migration, chosen, report) if chosen else None

    @retried
    def _begin_again(
        self, operation: Operation, migration: Migration, chosen: Selection, report: StepReport
    ) -> Operation | None:
        uuid, kind = operation.instance_uuid, kinds.get(operation.kind)
        destination = {
            "dest_host": chosen.host,
            "dest_ip": chosen.host_ip,
            "dest_node": chosen.node,
            "dest_zone": chosen.availability_zone,
            "dest_place": InstancePlace.of_holder(chosen, instance_uuid=uuid),
        }
        step = kind.steps[0]
        with self.database.begin() as session:
            changes = {"task_state": step.task}
            instances.update(session, uuid, changes, expected={"task_state": kind.tasks})
            migrations.update(session, migration.uuid, destination, expected=[MIGRATING])
            operations.go_on(
                session,
                operation,
                step,
                report.found.events,
                host=chosen.host,
                until=self._until(),
                reason=None,
            )
            LOG.info("[instance: %s] %s begins again with %s, as %s refused it",
                     uuid, kind, chosen.host, migration.dest_host)  # fmt: skip
            return operations.find(session, uuid)

    @retried
    def _write_step(self, operation: Operation, step: MoveStep, report: StepReport) -> Operation:
        """Write the next step into the row; return the operation with it."""
        uuid, kind = operation.instance_uuid, kinds.get(operation.kind)
        changes: dict[str, Any] = {"task_state": step.task}
        if report.network_info is not None:
            changes["network_info"] = report.network_info
        values: dict[str, Any] = {}
        if report.handover is not None:
            values["handover"] = report.handover
        with self.database.begin() as session:
            migration = migrations.unfinished(session, uuid)
            if migration is None:
                raise _is_over(operation)
            instances.update(session, uuid, changes, expected={"task_state": kind.tasks})
            if report.found.reason is not None:
                values["reason"] = report.found.reason
                if operation.step == kind.steps[0].name:
                    values["spec"] = _without(operations.spec_of(session, operation), migration)
            host = migration.host_at(step.at)
            operations.go_on(
                session,
                operation,
                step,
                report.found.events,
                host=host,
                until=self._until(),
                **values,
            )
        LOG.info("[instance: %s] %s goes on with %s on %s", uuid, kind, step.name, host)
        return _of(operation, host=host, step=step.name)

    def _until(self) -> datetime.datetime:
        """Return until when a host must have begun the step that it is sent now."""
        return self.database.now() + datetime.timedelta(seconds=self.seconds)

    @retried
    def _write_end(self, operation: Operation, report: StepReport) -> None:
        """End the operation, with the outcome of the instance and the status of the migration."""
        uuid, kind, status = operation.instance_uuid, kinds.get(operation.kind), _status(operation)
        own = {name: getattr(operation, name) for name in ("host", "step")}
        with self.database.begin() as session:
            migration = migrations.unfinished(session, uuid)
            if migration is None:
                raise _is_over(operation)
            changes = _outcome(operation, migration, report)
            if status == CONFIRMED:
                power_state = instances.get(session, uuid).power_state
                changes["vm_state"] = states.AS_FOUND.get(power_state, states.ACTIVE)
            instances.update(session, uuid, changes, expected={"task_state": kind.tasks})
            reason = operations.reason(session, operation.uuid) if status == FAILED else None
            events = report.found.events
            operations.end(session, operation.uuid, events, expected=own, message=reason)
            migrations.update(session, migration.uuid, {"status": status}, expected=_UNDER_WAY)
            if status == CONFIRMED and migration.migration_type == "resize":
                _keep_devices(session, migration)
        LOG.info("[instance: %s] %s ended: migration %s", uuid, kind, status)

    def _resend(self, overdue: OverdueOperation, operation: Operation) -> None:
        self.send(_context(overdue), operation)
        why = f"{overdue.host} did not go on with {overdue.step}; it was sent there again"
        event = instant_event("cell-conductor.resend", host=self.host, result="Error", details=why)
        self.database.write(operations.note_try, overdue, event)

    def send(self, context: RequestContext, operation: Operation) -> None:
        """Cast a step to its host; the sweeper sends a lost message again."""
        try:
            self.compute.on(operation.host).run(context, operation=_of(operation))
        except exception.Unavailable as error:
            LOG.warning("[instance: %s] cast of %s to host %s failed, the sweeper resends it: %s",
                        operation.instance_uuid, operation.kind, operation.host, error)  # fmt: skip


def _keep_devices(session: Session, migration: Migration) -> None:
    """Write the disks that a guest has with its new flavor, from which it may be rebuilt."""
    found = guest_config.find(session, migration.instance_uuid)
    if found is not None:
        found.block_devices = migration.new_devices(found.block_devices)
        found.obj_reset_changes()
        guest_config.put(session, migration.instance_uuid, found)


def _is_over(operation: Operation) -> exception.Conflict:
    return exception.Conflict(f"The operation {operation.uuid} is not in that step any more.")


def _of(row: OverdueOperation | Operation, **changes: str) -> Operation:
    return Operation.of(**{name: getattr(row, name) for name in operations.NAMES} | changes)


def _context(overdue: OverdueOperation) -> RequestContext:
    return project_context(overdue.project_id, request_id=overdue.request_id)


def _is_undone(operation: Operation) -> bool:
    return kinds.get(operation.kind).is_undo(str(operation.step))


def _without(spec: RequestSpec | None, migration: Migration) -> RequestSpec | None:
    """Return the request without the destination, which has refused the server."""
    if spec is not None:
        spec.ignore_hosts = [*spec.ignore_hosts, migration.host_at(DESTINATION)]
    return spec


def _stays_at(operation: Operation) -> str | None:
    """Return the side on which the server has its only claim from now on; None: both stay."""
    if operation.kind == CONFIRM_RESIZE.name:
        return DESTINATION
    if operation.kind == REVERT_RESIZE.name or _is_undone(operation):
        return SOURCE
    return None


def _status(operation: Operation) -> str:
    """Return the status of the migration after the last step of an operation."""
    if operation.kind == CONFIRM_RESIZE.name:
        return CONFIRMED
    if operation.kind == REVERT_RESIZE.name:
        return REVERTED
    return FAILED if _is_undone(operation) else FINISHED


def _outcome(operation: Operation, migration: Migration, report: StepReport) -> dict[str, Any]:
    """Return the changes of the instance's row after the last step."""
    found = report.found
    changes: dict[str, Any] = {"task_state": None}
    if operation.kind == CONFIRM_RESIZE.name:
        return changes  # and the vm state of its guest
    if report.network_info is not None:
        changes["network_info"] = report.network_info
    if operation.kind == REVERT_RESIZE.name:
        before = states.AS_FOUND.get(migration.power_before or states.RUNNING, states.ACTIVE)
        vm_state = found.vm_state or before
        changes |= {"vm_state": vm_state, "power_state": found.power_state or states.NOSTATE}
        return changes | _place(migration, SOURCE)
    if _is_undone(operation):
        return changes
    changes |= {"vm_state": states.RESIZED, "power_state": found.power_state or states.NOSTATE}
    return changes | _place(migration, DESTINATION)


def _place(migration: Migration, side: str) -> dict[str, Any]:
    """Return the columns that say where the server is, and with which flavor."""
    is_source = side == SOURCE
    place = migration.source_place if is_source else migration.dest_place
    return {
        "host": migration.source_host if is_source else migration.dest_host,
        "node": migration.source_node if is_source else migration.dest_node,
        "availability_zone": migration.source_zone if is_source else migration.dest_zone,
        "flavor": migration.old_flavor if is_source else migration.new_flavor,
        "numa_topology": place.numa_topology if place is not None else None,
        "pci": list(place.pci) if place is not None else [],
        "allocations": dict(place.allocations) if place is not None else {},
    }
