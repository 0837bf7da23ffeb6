"""The RPC server of the cell-conductor: each method calls the module that implements it."""

import re
from typing import Any

from roost import exception
from roost.callers import Level
from roost.conductor.cell.guest_reports import GuestReports
from roost.conductor.cell.interfaces import Interfaces
from roost.conductor.cell.liveness import COMPUTE
from roost.conductor.cell.operations.outcomes import OperationOutcomes
from roost.conductor.cell.operations.reports import ObservedGuest, StepReport
from roost.conductor.cell.report_parts import ReportParts
from roost.conductor.cell.security_groups import HostSecurityGroups
from roost.context import RequestContext
from roost.db.cell import identity, instances, migrations, services
from roost.db.engine import Database, retried
from roost.objects import (
    HostFinding,
    Instance,
    InstanceActionEvent,
    InstanceLocation,
    NetworkInfo,
    NetworkRequest,
    Operation,
    RoostObject,
    Vif,
)
from roost.operations.advance import Outcome
from roost.operations.steps import OBEYED
from roost.rpc.serializer import backported


class CellConductorManager:
    """Served as :class:`roost.rpc.cell_conductor.CellConductor`.

    :param lease_seconds: how long a host may work on a task without renewing its lease
    """

    def __init__(
        self,
        database: Database,
        *,
        outcomes: OperationOutcomes,
        guests: GuestReports,
        interfaces: Interfaces,
        filterings: HostSecurityGroups,
        report_parts: ReportParts,
        lease_seconds: float,
    ) -> None:
        self._database = database
        self._outcomes = outcomes
        self._guests = guests
        self._interfaces = interfaces
        self._filterings = filterings
        self._report_parts = report_parts
        self._lease_seconds = lease_seconds

    def report_service(
        self,
        context: RequestContext,
        *,
        host: str,
        binary: str,
        availability_zone: str | None = None,
        state_id: str | None = None,
        version: str | None = None,
    ) -> dict[str, Any]:
        if context.caller.level is Level.HOST and binary != COMPUTE:
            raise exception.Forbidden(f"A host is a {COMPUTE}, and no {binary}.")
        if version is not None and not re.fullmatch(r"\d+\.\d+", version):
            raise exception.Invalid(f"{version!r} is no version of an interface.")
        return self._report_service(host, binary, availability_zone, state_id, version)

    @retried
    def _report_service(
        self,
        host: str,
        binary: str,
        availability_zone: str | None,
        state_id: str | None,
        version: str | None,
    ) -> dict[str, Any]:
        with self._database.begin() as session:
            cell_uuid, cell_name = identity.get(session)
            service = services.report(
                session,
                host=host,
                binary=binary,
                availability_zone=availability_zone,
                state_id=state_id,
                version=version,
            )
        return {
            "cell_uuid": cell_uuid,
            "cell_name": cell_name,
            "service_uuid": service.uuid,
            "disabled": service.disabled,
            "disabled_version": service.disabled_version,
            "read_parts": self._report_parts.read,
            "now": self._database.latest_now().isoformat(),
            "notifies": self._outcomes.notifications.notifier.enabled,
        }

    def allocate_networks(
        self, context: RequestContext, *, instance_uuid: str, host: str, attempt: int
    ) -> NetworkInfo:
        with self._filterings.changing(context, instance_uuid, host=host):
            return self._interfaces.allocate(instance_uuid, host, attempt)

    def free_networks(self, context: RequestContext, *, instance_uuid: str, host: str) -> None:
        with self._filterings.changing(context, instance_uuid):
            self._interfaces.free(instance_uuid, host)

    def attach_port(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        host: str,
        request: NetworkRequest,
        key: str,
    ) -> Vif:
        with self._filterings.changing(context, instance_uuid, host=host):
            return self._interfaces.attach(instance_uuid, host, request, key=key)

    def detach_port(
        self, context: RequestContext, *, instance_uuid: str, host: str, port_id: str
    ) -> None:
        with self._filterings.changing(context, instance_uuid):
            self._interfaces.detach(instance_uuid, host, port_id)

    def write_interfaces(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        network_info: NetworkInfo,
        expected: dict[str, Any],
        spawns: bool = False,
    ) -> None:
        self._interfaces.write(instance_uuid, network_info, expected=expected, spawns=spawns)

    def describe_filtering(
        self, context: RequestContext, *, host: str, network_ids: list[str]
    ) -> dict[str, Any]:
        return self._filterings.describe(host, network_ids)

    def renew_leases(
        self,
        context: RequestContext,
        *,
        host: str,
        operations: list[str],
        nothing_else: bool = False,
    ) -> dict[str, Any]:
        seconds = self._lease_seconds
        lost = self._outcomes.renew(host, operations, seconds=seconds, nothing_else=nothing_else)
        return {"seconds": seconds, "lost": lost, "now": self._database.latest_now().isoformat()}

    def list_instances(
        self, context: RequestContext, *, host: str, instance_uuids: list[str] | None = None
    ) -> list[Instance]:
        with self._database.read() as session:
            here = instances.list_on_host(session, host, instance_uuids)
            return here + migrations.list_elsewhere(session, host, instance_uuids)

    def locate_instances(
        self,
        context: RequestContext,
        *,
        host: str,
        instance_uuids: list[str],
        and_others_here: bool = False,
    ) -> list[InstanceLocation]:
        return self._guests.locate(host, instance_uuids, and_others_here=and_others_here)

    def begin_operation(self, context: RequestContext, *, operation: Operation) -> Operation | None:
        return self._outcomes.take_up(context, operation, seconds=self._lease_seconds)

    def advance_operation(
        self, context: RequestContext, *, operation: Operation, changes: dict[str, Any]
    ) -> str | None:
        if OBEYED in changes:
            self._outcomes.note_obeyed(context, operation, changes[OBEYED])
            return None
        return self._outcomes.advance(operation, changes)

    def end_operation(
        self,
        context: RequestContext,
        *,
        operation: Operation,
        power_state: int | None,
        events: list[InstanceActionEvent],
        outcome: str,
        vm_state: str | None = None,
        reason: str | None = None,
        handover: str | None = None,
        network_info: NetworkInfo | None = None,
        code: str | None = None,
        details: str | None = None,
        config_drive: bool = False,
    ) -> None:
        found = ObservedGuest(operation.worker, power_state, vm_state, events, reason)
        report = StepReport(
            found, _outcome(outcome), handover, network_info, code, details, config_drive
        )
        self._outcomes.end(context, operation, report)

    def report_power(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        host: str,
        seen: str,
        power_state: int | None,
        events: list[InstanceActionEvent],
        vm_state: str | None = None,
        reason: str | None = None,
    ) -> None:
        found = ObservedGuest(host, power_state, vm_state, events, reason)
        self._guests.settle(context, instance_uuid, found, seen=seen)

    def report_finding(self, context: RequestContext, *, finding: HostFinding) -> None:
        self._guests.notify(context, finding)

    def object_backport(
        self, context: RequestContext, *, objinst: RoostObject, versions: dict[str, str]
    ) -> dict[str, Any]:
        return backported(objinst, versions)


def _outcome(name: str) -> Outcome:
    try:
        return Outcome(name)
    except ValueError:
        raise exception.Invalid(f"{name!r} is no outcome of a step.") from None
