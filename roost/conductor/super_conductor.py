"""What a super-conductor serves: table of contents."""

from roost.conductor.boot import Boots
from roost.context import RequestContext


class SuperConductorManager:
    """Served as :class:`roost.rpc.super_conductor.SuperConductor`."""

    def __init__(self, boots: Boots) -> None:
        self._boots = boots

    def schedule_and_build_instances(
        self, context: RequestContext, *, request_uuid: str, instance_uuids: list[str]
    ) -> None:
        self._boots.build(context, request_uuid, instance_uuids)
