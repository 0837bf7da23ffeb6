"""What the API level may ask of the super-conductors."""

from roost.callers import Level
from roost.context import RequestContext
from roost.rpc import interface


class SuperConductor(interface.Interface):
    """Served on the API bus, by any number of super-conductors."""

    topic = "super-conductor"
    version = "1.0"
    callers = frozenset({Level.API})

    @interface.cast(since="1.0", carries_token=True)
    def schedule_and_build_instances(
        self, context: RequestContext, *, request_uuid: str, instance_uuids: list[str]
    ) -> None:
        """Place and build the instances of one accepted request: their BuildRequests are there."""
