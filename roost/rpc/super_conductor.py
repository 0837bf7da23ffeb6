"""What the API level may ask of the super-conductors."""

from roost.callers import Level
from roost.context import RequestContext
from roost.rpc import interface


class SuperConductor(interface.Interface):
    """Served on the API bus, by any number of super-conductors."""

    topic = "super-conductor"
    version = "1.1"
    callers = frozenset({Level.API})

    @interface.cast(since="1.0", carries_token=True)
    def schedule_and_build_instances(
        self, context: RequestContext, *, request_uuid: str, instance_uuids: list[str]
    ) -> None:
        """Place and build the instances of one accepted request: their BuildRequests are there."""

    @interface.cast(since="1.1")
    def spread_security_groups(self, context: RequestContext, *, project_id: str) -> None:
        """Let the cells of a project's servers, and their hosts, know its groups as they are now.

        One that is lost is made good for: super-conductors compare groups and cells now and then.
        """
