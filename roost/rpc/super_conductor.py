"""RPC interface of the super-conductors."""

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
        """Place and build the instances of one accepted request, whose BuildRequests are stored."""

    @interface.cast(since="1.1")
    def spread_security_groups(self, context: RequestContext, *, project_id: str) -> None:
        """Copy a project's security groups to the cells of its servers, and notify their hosts.

        The message may be lost: super-conductors compare groups and cells periodically.
        """
