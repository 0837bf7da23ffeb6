"""What everybody may ask of the schedulers. Used through ``scheduler/client.py`` only."""

from typing import Any

from roost.context import RequestContext
from roost.objects import HostReport, RequestSpec, Selection
from roost.rpc import interface


class Scheduler(interface.Interface):
    """Served on the scheduler bus, by any number of schedulers."""

    topic = "scheduler"
    version = "1.0"

    @interface.call(since="1.0")
    def select_destinations(
        self,
        context: RequestContext,
        *,
        request_spec: RequestSpec,
        instance_uuids: list[str],
        alternates: int,
    ) -> list[list[Selection]]:
        """Choose and claim a host for each instance, all or none.

        :returns: per instance, in the order asked, the claimed host and then up to ``alternates``
            others of the same cell
        :raises roost.exception.NoValidHost: with the reasons, per filter

        An instance that holds a claim already keeps it, unless its host is to be ignored.
        """

    @interface.cast(since="1.0")
    def update_resource_stats(self, context: RequestContext, *, report: HostReport) -> None:
        """Take in what a host says of itself; the instances it lists have their claims confirmed.

        A report that is older than the last one of its (host, node) is dropped.
        """

    @interface.call(since="1.0")
    def move_claim(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        request_spec: RequestSpec,
        to: Selection,
    ) -> Selection:
        """Give the instance a claim on ``to``, and take away the one it has elsewhere, at once.

        :raises roost.exception.NoCapacity: when ``to`` has no room (any more); the old claim stays
        """

    @interface.call(since="1.0")
    def release_claims(
        self, context: RequestContext, *, instance_uuids: list[str], host: str | None = None
    ) -> None:
        """Let go of the claims of these instances (only of those on ``host``, if one is named)."""

    @interface.call(since="1.0")
    def set_host_enabled(self, context: RequestContext, *, host: str, enabled: bool) -> None:
        """Let a host take new instances, or not."""

    @interface.call(since="1.0")
    def list_hosts(
        self, context: RequestContext, *, marker: str | None = None, limit: int = 1000
    ) -> list[HostReport]:
        """Return the known hosts in order of host and node, with usage by claims.

        ``marker`` is the last host of the page before; ``instances`` is left empty.
        """

    @interface.call(since="1.0")
    def list_claims(
        self, context: RequestContext, *, marker: str | None = None, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """Return claims in order of instance uuid: instance_uuid, host, node, state, sizes."""
