"""A host that attaches and detaches interfaces, as far as the rows of its cell tell."""

from roost import exception
from roost.db.cell import instances, operations
from roost.db.types import utcnow
from roost.objects import InstanceActionEvent, NetworkInfo
from roost.operations import kinds
from roost.operations.kinds import ATTACH_INTERFACE
from roost.operations.steps import DEVICE
from tests.builders import CELL1, a_vif


class AttachingHost:
    """Ends each operation on interfaces when it is sent; with an error, if it has one.

    ``silent``: it does nothing. ``vif``: what it attaches, but for ids. ``asked``: the operations.
    """

    def __init__(self, world):
        self._database = world.databases[CELL1]
        self.error, self.silent, self.vif, self.asked = None, False, {}, []
        world.buses["fake://cell1/"].hears["run"] = self._run

    def _run(self, operation, **_more):
        if kinds.get(operation.kind).lock != DEVICE:
            return
        self.asked.append(operation)
        if not self.silent:
            self.end(operation)

    def end(self, operation):
        with self._database.begin() as session:
            if self.error is None:
                self._change(session, operation)
            shown = self.error and exception.without_host(self.error, operation.host)
            operations.end(
                session,
                operation.uuid,
                [self._event(operation)],
                expected={},
                message=shown and exception.reason(shown),
                code=self.error and getattr(self.error, "code", "internal"),
            )

    def _change(self, session, operation):
        uuid, params = operation.instance_uuid, operation.params
        held = instances.network_info(session, uuid)
        vifs = [vif for vif in (held.vifs if held else []) if vif.id != params.port_id]
        if kinds.get(operation.kind) is ATTACH_INTERFACE:
            named = {"id": params.port_id, "network_id": params.request.network_id}
            vifs.append(a_vif(**named | self.vif))
        instances.update(session, uuid, {"network_info": NetworkInfo.of(vifs=vifs)}, expected={})

    def _event(self, operation):
        return InstanceActionEvent(
            event=f"compute.{operation.kind}",
            host=operation.host,
            start_time=utcnow(),
            finish_time=utcnow(),
            result="Error" if self.error else "Success",
            details=self.error and exception.details(self.error),
        )
