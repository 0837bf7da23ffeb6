"""The RPC server of the super-conductor: each method calls the module that implements it."""

from roost.cells.security_groups import GroupCopies
from roost.conductor.super.boot_queue import BootQueue
from roost.conductor.super.boot_service import BootOrder
from roost.context import RequestContext


class SuperConductorManager:
    """Served as :class:`roost.rpc.super_conductor.SuperConductor`.

    :param groups: copies security groups to cells; None: no host filters
    """

    def __init__(self, boots: BootQueue, groups: GroupCopies | None) -> None:
        self._boots = boots
        self._groups = groups

    def schedule_and_build_instances(
        self, context: RequestContext, *, request_uuid: str, instance_uuids: list[str]
    ) -> None:
        self._boots.put(BootOrder(context, request_uuid, instance_uuids))

    def spread_security_groups(self, context: RequestContext, *, project_id: str) -> None:
        if self._groups is not None:
            self._groups.spread(context, project_id)
