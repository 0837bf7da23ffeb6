"""What a cell-conductor serves: table of contents."""

from typing import Any

from roost.conductor.delete import Deletion
from roost.conductor.progress import Progress
from roost.conductor.reschedule import Failure, Rescheduling
from roost.context import RequestContext
from roost.db.cell import identity, instances, services
from roost.db.engine import Database
from roost.objects import Instance, InstanceActionEvent, NetworkInfo, RoostObject
from roost.rpc.serializer import backported


class CellConductorManager:
    """Served as :class:`roost.rpc.cell_conductor.CellConductor`."""

    def __init__(
        self,
        database: Database,
        *,
        progress: Progress,
        rescheduling: Rescheduling,
        deletion: Deletion,
    ) -> None:
        self._database = database
        self._progress = progress
        self._rescheduling = rescheduling
        self._deletion = deletion

    def report_service(
        self,
        context: RequestContext,
        *,
        host: str,
        binary: str,
        availability_zone: str | None = None,
    ) -> dict[str, Any]:
        with self._database.begin() as session:
            cell_uuid, cell_name = identity.get(session)
            service = services.report(
                session, host=host, binary=binary, availability_zone=availability_zone
            )
        return {
            "cell_uuid": cell_uuid,
            "cell_name": cell_name,
            "service_uuid": service.uuid,
            "disabled": service.disabled,
        }

    def begin_build(
        self, context: RequestContext, *, instance_uuid: str, host: str, attempt: int
    ) -> bool:
        return self._progress.begin_build(instance_uuid, host, attempt)

    def allocate_networks(
        self, context: RequestContext, *, instance_uuid: str, host: str, attempt: int
    ) -> NetworkInfo:
        return self._progress.allocate_networks(instance_uuid, host, attempt)

    def free_networks(self, context: RequestContext, *, instance_uuid: str) -> None:
        self._progress.free_networks(instance_uuid)

    def instance_update(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        changes: dict[str, Any],
        expected: dict[str, Any],
        events: list[InstanceActionEvent],
    ) -> None:
        self._progress.update(instance_uuid, changes, expected, events)

    def build_instances(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        host: str,
        attempt: int,
        reason: str,
        events: list[InstanceActionEvent],
    ) -> None:
        failure = Failure(instance_uuid, host, attempt, reason, events)
        self._rescheduling.build_elsewhere(context, failure)

    def abandon_build(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        host: str,
        attempt: int,
        reason: str,
        events: list[InstanceActionEvent],
    ) -> None:
        failure = Failure(instance_uuid, host, attempt, reason, events)
        self._rescheduling.abandon(context, failure)

    def finish_delete(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        host: str,
        events: list[InstanceActionEvent],
    ) -> None:
        self._deletion.finish(context, instance_uuid, host, events)

    def list_instances(self, context: RequestContext, *, host: str) -> list[Instance]:
        with self._database.read() as session:
            return instances.list_on_host(session, host)

    def object_backport(
        self, context: RequestContext, *, objinst: RoostObject, versions: dict[str, str]
    ) -> dict[str, Any]:
        return backported(objinst, versions)
