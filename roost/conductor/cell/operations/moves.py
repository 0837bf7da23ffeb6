"""What only moves of servers between hosts do: from step to step, and at their end.

Before: the scheduler has claimed the destination beside the source, and the API has written the
migration. A destination that refuses the server in the first step is replaced by another one. The
steps of a host that is fenced are skipped: what it may have of the server is noted as left behind,
and it removes that when it is up again.

At the end the server has one claim, unless it waits for its user: then it is on the destination,
and keeps both. On the same host it is one claim, for the larger of both flavors meanwhile.
"""

import dataclasses
import datetime
import logging
from typing import Any, Final, NamedTuple

from roost import exception, states
from roost.conductor.cell.operations.claims import MoveClaims
from roost.conductor.cell.operations.reports import StepReport
from roost.context import RequestContext
from roost.db.cell import (
    guest_config,
    instances,
    left_behind,
    migrations,
    operations,
    services,
)
from roost.db.engine import Database, Session, retried
from roost.objects import (
    GivenLease,
    Instance,
    InstanceResources,
    Migration,
    Operation,
    OperationParams,
    RequestSpec,
    Selection,
)
from roost.objects.migration import (
    CANCELLED,
    COMING,
    CONFIRMED,
    CONFIRMING,
    DONE,
    FAILED,
    FINISHED,
    LIVE_FAILED,
    MIGRATING,
    POST_MIGRATING,
    REVERTING,
)
from roost.operations import advance, kinds
from roost.operations.steps import ABORT, DESTINATION, SOURCE, Ending, OperationStep

LOG = logging.getLogger(__name__)
_UNDER_WAY: Final = (*COMING, POST_MIGRATING, FINISHED, CONFIRMING, REVERTING)


class Moving(NamedTuple):
    """A migration that is under way, the request for its destination, and why it is undone.

    ``asked``: what its host was asked meanwhile.
    """

    migration: Migration
    spec: RequestSpec | None
    reason: str | None
    asked: str | None


@dataclasses.dataclass(frozen=True)
class ServerMoves:
    """Writes the steps and the ends of moves.

    :param seconds: until when a host must have begun a step that its message gives no lease for
    :param lease_seconds: the length of a lease
    """

    database: Database
    claims: MoveClaims
    seconds: float
    lease_seconds: float

    def read(self, operation: Operation) -> Moving:
        """Return the migration of a move that still is in this step.

        :raises roost.exception.Conflict: when it is over, or in another step
        """
        with self.database.read() as session:
            request = operations.request_of(session, operation)
            if request is None:
                raise _is_over(operation)
            return Moving(_migration_of(session, operation), *request)

    def keep_claim(self, context: RequestContext, operation: Operation) -> None:
        """Claim the destination of a move again.

        :raises roost.exception.NoCapacity: when there is no capacity any more
        """
        moving = self.read(operation)
        self.claims.keep(context, moving.migration, moving.spec)

    @retried
    def write_step(
        self, operation: Operation, step: OperationStep, report: StepReport, *, gives: bool
    ) -> Operation:
        """Write the next step into the row; return the operation with it, for its host.

        :param gives: whether the host may get a lease with it, and the rows that it reads
        :raises roost.exception.Conflict: when it is over, or in another step
        """
        uuid, kind = operation.instance_uuid, kinds.get(operation.kind)
        changes: dict[str, Any] = {"task_state": step.task}
        if report.network_info is not None:
            changes["network_info"] = report.network_info
        values: dict[str, Any] = {}
        if report.handover is not None:
            values["handover"] = report.handover
        if report.found.reason is not None:
            values["reason"] = report.found.reason
        given: GivenLease | None = None
        instance: Instance | None = None
        now, until = self.database.now(), self._until()
        with self.database.begin() as session:
            migration = _migration_of(session, operation)
            host = migration.host_at(step.at)
            if gives and kind.comes_with_lease(step) and not services.is_forced_down(session, host):
                until = now + datetime.timedelta(seconds=self.lease_seconds)
                given = GivenLease.of(since=now, until=until)
            if "reason" in values and kind.arrival and operation.step == kind.arrival.name:
                spec, *_ = operations.request_of(session, operation) or (None,)
                left = spec and _without(spec, migration)
                values["params"] = OperationParams.of(spec=left)
            instances.update(session, uuid, changes, expected={"task_state": kind.tasks})
            if step.migration not in (None, migration.status):
                status = {"status": step.migration}
                migrations.update(session, migration.uuid, status, expected=_UNDER_WAY)
            if kind.in_question(operation.step) and step in kind.steps:  # its source knows nothing
                left_behind.note(session, uuid, migration.source_host)
            operations.go_on(
                session,
                operation,
                step,
                report.found.events,
                host=host,
                until=until,
                **values,
            )
            if given is not None and step.reads_instance:
                instance = guest_config.get_instance(session, uuid)
        LOG.info("[instance: %s] %s goes on with %s on %s", uuid, kind, step.name, host)
        return operations.named(
            operation,
            host=host,
            step=step.name,
            handover=report.handover,
            given=given,
            instance=instance,
            migration=migration if given is not None else None,
        )

    def settle_claims(self, context: RequestContext, ending: Ending, moving: Moving) -> None:
        """Release what was claimed for where the server will not be; confirm what stays.

        Before the end is written: while the operation is under way, this is repeated.
        """
        if DESTINATION in ending.claims:
            self.claims.confirm(context, moving.migration, moving.spec)
        if len(ending.claims) == 1:
            self.claims.release(context, moving.migration, *ending.claims)

    def begin_again(
        self, context: RequestContext, operation: Operation, moving: Moving, report: StepReport
    ) -> Operation | None:
        """Begin a move that has come back again, if its destination has refused the server.

        :returns: the operation with its first step at another destination; None: it ends
        """
        if not advance.is_undo(kinds.get(operation.kind), operation.step):
            return None
        chosen = self.claims.choose_another(context, moving.migration, moving.spec)
        return self._begin_again(operation, moving.migration, chosen, report) if chosen else None

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
            "dest_resources": InstanceResources.of_holder(chosen, instance_uuid=uuid),
        }
        step = kind.steps[0]
        with self.database.begin() as session:
            changes = {"task_state": step.task}
            instances.update(session, uuid, changes, expected={"task_state": kind.tasks})
            status = step.migration or MIGRATING
            changed = {**destination, "status": status}
            migrations.update(session, migration.uuid, changed, expected=COMING)
            operations.go_on(
                session,
                operation,
                step,
                report.found.events,
                host=chosen.host if step.at == DESTINATION else migration.host_at(step.at),
                until=self._until(),
                reason=None,
            )
            LOG.info("[instance: %s] %s begins again with %s, as %s refused it",
                     uuid, kind, chosen.host, migration.dest_host)  # fmt: skip
            return operations.find(session, uuid)

    def write_end(
        self, session: Session, ending: Ending, moving: Moving, outcome: advance.Outcome
    ) -> str | None:
        """Write the status of the migration; return why it failed, if it did.

        :param outcome: of the last step
        """
        migration, status = moving.migration, ending.migration
        if status == LIVE_FAILED and moving.asked == ABORT:
            status = CANCELLED
        migrations.update(session, migration.uuid, {"status": status}, expected=_UNDER_WAY)
        if status == DONE:
            left_behind.note(session, migration.instance_uuid, migration.source_host)
        if status == LIVE_FAILED and outcome is advance.Outcome.LOST:  # it has prepared for it
            left_behind.note(session, migration.instance_uuid, migration.host_at(DESTINATION))
        if status == CONFIRMED and migration.migration_type == "resize":
            _keep_devices(session, migration)
        return moving.reason if status in (FAILED, LIVE_FAILED, CANCELLED) else None

    def _until(self) -> datetime.datetime:
        """Return until when a host must have begun the step that it is sent now."""
        return self.database.now() + datetime.timedelta(seconds=self.seconds)


def columns_at(side: str, migration: Migration) -> dict[str, Any]:
    """Return the columns that say where the server is, and with which flavor."""
    is_source = side == SOURCE
    resources = migration.source_resources if is_source else migration.dest_resources
    return {
        "host": migration.source_host if is_source else migration.dest_host,
        "node": migration.source_node if is_source else migration.dest_node,
        "availability_zone": migration.source_zone if is_source else migration.dest_zone,
        "flavor": migration.old_flavor if is_source else migration.new_flavor,
        "numa_topology": resources.numa_topology if resources is not None else None,
        "pci": list(resources.pci) if resources is not None else [],
        "allocations": dict(resources.allocations) if resources is not None else {},
    }


def vm_state_before(migration: Migration) -> str:
    """Return the vm state with which a move began."""
    return states.AS_FOUND.get(migration.power_before or states.RUNNING, states.ACTIVE)


def _keep_devices(session: Session, migration: Migration) -> None:
    """Write the disks that a guest has with its new flavor, from which it may be rebuilt."""
    found = guest_config.find(session, migration.instance_uuid)
    if found is not None:
        found.block_devices = migration.new_devices(found.block_devices)
        found.obj_reset_changes()
        guest_config.put(session, migration.instance_uuid, found)


def _migration_of(session: Session, operation: Operation) -> Migration:
    found = migrations.unfinished(session, operation.instance_uuid)
    if found is None:
        raise _is_over(operation)
    return found


def _is_over(operation: Operation) -> exception.Conflict:
    return exception.Conflict(f"The operation {operation.uuid} is not in that step any more.")


def _without(spec: RequestSpec, migration: Migration) -> RequestSpec:
    """Return the request without the destination, which has refused the server."""
    rest: RequestSpec = spec.obj_clone()
    rest.ignore_hosts = [*spec.ignore_hosts, migration.host_at(DESTINATION)]
    return rest
