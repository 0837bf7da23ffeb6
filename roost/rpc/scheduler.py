"""What others may ask of the schedulers. Used through ``scheduler/client.py`` only."""

from typing import Any, Final

from roost.callers import Level
from roost.context import RequestContext
from roost.objects import (
    Aggregate,
    CellLiveness,
    Explanation,
    HostReport,
    RequestSpec,
    Selection,
    ServerGroup,
    SnapshotRange,
)
from roost.rpc import interface
from roost.rpc.access import ROWS

# Seconds after which a claim ends that no host has confirmed: longer than hosts usually take to
# hear of a build and to report it. A later build gets a new claim, if there is still room.
RESERVATION_LIFETIME: Final = 60.0


class Scheduler(interface.Interface):
    """What the API level may ask: anything, of all cells. Served by any number of schedulers.

    Every method may be repeated. What comes late or twice is known by its version or time, and
    does no harm.
    """

    topic = "scheduler"
    version = "1.1"
    callers = frozenset({Level.API})

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

    @interface.call(since="1.0")
    def explain(
        self, context: RequestContext, *, request_spec: RequestSpec, instances: int = 1
    ) -> Explanation:
        """Think a request for so many new instances through, and claim nothing."""

    @interface.call(since="1.0")
    def release_claims(
        self, context: RequestContext, *, instance_uuids: list[str], host: str | None = None
    ) -> None:
        """Let go of the claims of these instances (only of those on ``host``, if one is named)."""

    @interface.call(since="1.0")
    def restore_claims(
        self, context: RequestContext, *, host: str, node: str, holdings: dict[str, list[int]]
    ) -> list[str]:
        """Claim what instances have on a host that hold no claim at all, whether it fits or not.

        For repairs: what is there is there. ``holdings`` is as in a HostReport.

        :returns: the uuids of those that got one
        :raises roost.exception.NotFound: when the host is not known
        """

    @interface.call(since="1.0")
    def set_host_enabled(
        self, context: RequestContext, *, host: str, enabled: bool, version: int
    ) -> None:
        """Let a host take new instances, or not; of two words that of the higher version counts.

        It counts against the host's own reports, too, until one knows of this word.
        """

    @interface.call(since="1.0")
    def remove_host(self, context: RequestContext, *, host: str) -> None:
        """Forget a host that is gone for good; one that is not known is fine.

        :raises roost.exception.Conflict: while it holds claims
        """

    @interface.cast(since="1.0")
    def update_aggregates(
        self,
        context: RequestContext,
        *,
        aggregates: list[Aggregate],
        snapshot: SnapshotRange | None = None,
    ) -> None:
        """Take in aggregates that changed, or all of a range."""

    @interface.cast(since="1.0")
    def update_groups(
        self,
        context: RequestContext,
        *,
        groups: list[ServerGroup],
        snapshot: SnapshotRange | None = None,
    ) -> None:
        """Take in server groups, with their members, that changed, or all of a range."""

    @interface.call(since="1.0", added={"host": "1.1"})
    def list_hosts(
        self,
        context: RequestContext,
        *,
        marker: str | None = None,
        limit: int = 1000,
        node_uuid: str | None = None,
        host: str | None = None,
    ) -> list[HostReport]:
        """Return the known hosts in order of host and node, with usage by claims.

        Only that of ``node_uuid``, or the nodes of ``host``, where they are named. ``marker`` is
        the last host of the page before; ``instances`` and ``holdings`` are empty.
        """

    @interface.call(since="1.0")
    def list_claims(
        self,
        context: RequestContext,
        *,
        marker: str | None = None,
        limit: int = 1000,
        host: str | None = None,
        instance_uuids: list[str] | None = None,
    ) -> list[dict[str, Any]]:
        """Return claims in order of instance uuid.

        Only those on ``host``, and of ``instance_uuids``, where these are named. Each has
        instance_uuid, host, node, cell_uuid, project_id, group_uuid, state, created_at and age
        (seconds; both by the schedulers' own clock), vcpus, pcpus, memory_mb and disk_gb.
        """

    @interface.call(since="1.0")
    def list_miscounted(self, context: RequestContext) -> list[dict[str, Any]]:
        """Return nodes (1000 at most) that count as in use something else than is claimed of them.

        Each has host, node and, by resource, ``used`` and ``claimed``, all of the same moment.
        """

    @interface.call(since="1.0")
    def recount(self, context: RequestContext, *, host: str) -> bool:
        """Let a host count as in use what is claimed of it; tell whether it did not."""

    @interface.call(since="1.1")
    def forget_cell(self, context: RequestContext, *, cell_uuid: str) -> None:
        """Let the next user of the bus that reports for a cell speak for it; see CellScheduler."""


class CellScheduler(interface.Interface):
    """What a cell's conductors and hosts may ask: what is about that cell, and no other.

    Served by the same schedulers. The user of the bus that is the first to report the liveness of a
    cell speaks for it, from then on, and for no other.
    """

    topic = "cell-scheduler"
    version = "1.0"
    callers = frozenset({Level.CELL})

    @interface.call(since="1.0", own_cell="request_spec.requested_cell")
    def select_destinations(
        self,
        context: RequestContext,
        *,
        request_spec: RequestSpec,
        instance_uuids: list[str],
        alternates: int,
    ) -> list[list[Selection]]:
        """As :meth:`Scheduler.select_destinations`, within the cell.

        :raises roost.exception.Forbidden: when an instance holds a claim in another cell
        """

    @interface.cast(since="1.0", own_host="report.host", own_cell="report.cell_uuid")
    def update_resource_stats(self, context: RequestContext, *, report: HostReport) -> None:
        """Take in what a host says of itself.

        The claims of the instances that it lists are confirmed; what claims and instances differ
        in is healed. A report that is older than the last one of its (host, node) is dropped.

        :raises roost.exception.Forbidden: when another cell has a host of that name
        """

    @interface.call(since="1.0", own_cell="to.cell_uuid")
    def move_claim(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        request_spec: RequestSpec,
        to: Selection,
    ) -> Selection:
        """Give the instance a claim on ``to``, and take away the one it has elsewhere, at once.

        :returns: ``to``, with what the claim there holds
        :raises roost.exception.NoCapacity: when ``to`` may not have it (any more); the old claim
            stays
        :raises roost.exception.Forbidden: when it holds one in another cell
        """

    @interface.call(since="1.0", own_cell=ROWS)
    def release_claims(
        self, context: RequestContext, *, instance_uuids: list[str], host: str | None = None
    ) -> None:
        """As :meth:`Scheduler.release_claims`, within the cell.

        :raises roost.exception.Forbidden: when an instance holds a claim in another cell
        """

    @interface.cast(since="1.0", own_cell="liveness.cell_uuid")
    def update_liveness(self, context: RequestContext, *, liveness: CellLiveness) -> None:
        """Take in which hosts of a cell are up.

        A cell that has once reported and falls silent is down.
        """
