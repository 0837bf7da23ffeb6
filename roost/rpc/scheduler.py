"""RPC interfaces of the schedulers. Used through ``scheduler/client.py`` only."""

from typing import Any, Final

from roost.callers import Level
from roost.context import RequestContext
from roost.objects import (
    Aggregate,
    CellLiveness,
    Explanation,
    HostChangePage,
    HostReport,
    InstanceResources,
    ResourceRequest,
    Selection,
    ServerGroup,
    SnapshotRange,
)
from roost.rpc import interface
from roost.rpc.access import NOTHING, ROWS

# Seconds after which a claim ends that no host has confirmed: longer than hosts usually take to
# receive a build and to report it. A later build gets a new claim, if the host still has capacity.
RESERVATION_LIFETIME: Final = 60.0


class Scheduler(interface.Interface):
    """The interface for the API level, for all cells. Served by any number of schedulers.

    Every method may be repeated. Schedulers drop late and repeated messages by their version or
    time.
    """

    topic = "scheduler"
    version = "1.9"
    callers = frozenset({Level.API})

    @interface.call(since="1.0", added={"beside": "1.2"})
    def select_destinations(
        self,
        context: RequestContext,
        *,
        request_spec: ResourceRequest,
        instance_uuids: list[str],
        alternates: int,
        beside: str | None = None,
    ) -> list[list[Selection]]:
        """Choose and claim a host for each instance, all or none.

        :param beside: the host of the only instance, which is to move: its claim there stays, and
            does not count in its server group. If the request does not ignore that host, it may be
            chosen, too; then the claim grows to what the instance needs before and afterwards. It
            is not chosen for an instance with exact CPUs, memory or devices.
        :returns: per instance, in their order, the claimed host and then up to ``alternates``
            others of the same cell
        :raises roost.exception.NoValidHost: with the reasons, per filter
        :raises roost.exception.Conflict: when the instance holds no claim on ``beside``

        An instance that holds a claim already keeps it, unless its host is to be ignored.
        """

    @interface.call(since="1.8")
    def select_for_requests(
        self,
        context: RequestContext,
        *,
        request_specs: list[ResourceRequest],
        instance_uuids: list[list[str]],
        alternates: int,
    ) -> list[list[list[Selection]] | None]:
        """Choose and claim hosts for several requests at once, each all or none.

        :param instance_uuids: those of each request
        :returns: per request, what :meth:`select_destinations` would return; None when that would
            raise something: ask for this request alone, to learn why
        """

    @interface.call(since="1.3", added={"arrived": "1.4"})
    def move_claim(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        request_spec: ResourceRequest,
        to: Selection,
        leaving: str | None = None,
        arrived: bool = False,
    ) -> Selection:
        """As :meth:`CellScheduler.move_claim`, for all cells."""

    @interface.call(since="1.0")
    def explain(
        self, context: RequestContext, *, request_spec: ResourceRequest, instances: int = 1
    ) -> Explanation:
        """Evaluate a request for so many new instances, without claims."""

    @interface.call(since="1.0", added={"reserved": "1.9"})
    def release_claims(
        self,
        context: RequestContext,
        *,
        instance_uuids: list[str],
        host: str | None = None,
        reserved: bool = False,
    ) -> None:
        """Delete the claims of these instances (only those on ``host``, if one is named).

        :param reserved: only those that no host has confirmed, as this may come late
        """

    @interface.call(since="1.0", added={"instance_resources": "1.5"})
    def restore_claims(
        self,
        context: RequestContext,
        *,
        host: str,
        node: str,
        holdings: dict[str, dict[str, dict[str, int]]],
        instance_resources: list[InstanceResources] | None = None,
    ) -> list[str]:
        """Create claims for instances on a host that have none there, even beyond its capacity.

        For repairs: the instances are there. ``holdings`` and ``instance_resources`` are as in a
        HostReport.

        :returns: the uuids of the instances that got a claim
        :raises roost.exception.NotFound: when the host is unknown
        :raises roost.exception.Invalid: for amounts that cannot be counted
        """

    @interface.call(since="1.0")
    def set_host_enabled(
        self, context: RequestContext, *, host: str, enabled: bool, version: int
    ) -> None:
        """Enable or disable a host for new instances; of two messages the higher version counts.

        It also overrides the host's own reports, until one has this version.
        """

    @interface.call(since="1.0")
    def remove_host(self, context: RequestContext, *, host: str) -> None:
        """Delete a host that was removed; an unknown host is no error.

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
        """Update aggregates that changed, or all of a range."""

    @interface.cast(since="1.0")
    def update_groups(
        self,
        context: RequestContext,
        *,
        groups: list[ServerGroup],
        snapshot: SnapshotRange | None = None,
    ) -> None:
        """Update server groups, with their members, that changed, or all of a range."""

    @interface.call(since="1.0", added={"host": "1.1", "node": "1.6"}, for_readers=True)
    def list_hosts(
        self,
        context: RequestContext,
        *,
        marker: str | None = None,
        limit: int = 1000,
        node_uuid: str | None = None,
        host: str | None = None,
        node: str | None = None,
    ) -> list[HostReport]:
        """Return the known hosts in order of host and node, with usage by claims.

        Only the one with ``node_uuid``, the nodes of ``host``, or those called ``node``, if they
        are named. ``marker`` is the last host of the previous page; ``instances`` and ``holdings``
        are empty.
        """

    @interface.call(since="1.7", for_readers=True)
    def changes_since(
        self, context: RequestContext, *, marker: str | None = None, limit: int = 1000
    ) -> HostChangePage:
        """Return the hosts that changed after a marker, in the order of their last changes.

        Each as it is now, once. A page has the next ``marker``. The last page's begins a little
        before the time of the listing's first page, since a commit of that time may not be visible
        yet: so changes come again, by whose ``generation`` a caller sees that it has them.

        :param marker: None: return all hosts; who was missing there before is removed
        :raises roost.exception.Invalid: for what is no marker, or a limit below 1
        :raises roost.exception.NotFound: when the marker is older than a day: removed hosts are
            not known for longer; begin again without one
        """

    @interface.call(since="1.0", added={"project_id": "1.6"})
    def list_claims(
        self,
        context: RequestContext,
        *,
        marker: str | None = None,
        limit: int = 1000,
        host: str | None = None,
        instance_uuids: list[str] | None = None,
        project_id: str | None = None,
    ) -> list[dict[str, Any]]:
        """Return claims in order of instance uuid; all those of the last one, beyond the limit.

        Only those on ``host``, of ``instance_uuids`` and of ``project_id``, if these are named.
        Each has instance_uuid, host, node, cell_uuid, project_id, group_uuid, state, created_at and
        age (seconds; both by the schedulers' own clock), and allocations: amounts by provider and
        resource class, where the name of the host itself is empty.
        """

    @interface.call(since="1.0")
    def list_miscounted(self, context: RequestContext) -> list[dict[str, Any]]:
        """Return nodes (1000 at most) whose usage differs from the sum of their claims.

        Each has host, node and, by resource, ``used`` and ``claimed``, all of the same time.
        """

    @interface.call(since="1.0")
    def recount(self, context: RequestContext, *, host: str) -> bool:
        """Set a host's usage to the sum of its claims; return whether it differed."""

    @interface.call(since="1.1")
    def forget_cell(self, context: RequestContext, *, cell_uuid: str) -> None:
        """Forget a cell's bus user: the next one that reports owns it; see CellScheduler."""


class SchedulerFeed(interface.Interface):
    """Changes from scheduler to scheduler, which each of them receives and applies in memory.

    Messages may be lost, late or doubled: the generation of each host decides.
    """

    topic = "scheduler-feed"
    version = "1.0"
    callers = frozenset({Level.API})

    @interface.cast(since="1.0")
    def hosts_changed(
        self,
        context: RequestContext,
        *,
        sender: str,
        usages: list[list[Any]],
        stale: list[int],
        removed: list[int],
        heard: list[list[Any]],
        cells: dict[str, float],
        aggregates: bool,
    ) -> None:
        """Apply committed changes of another scheduler. Times are seconds since the epoch.

        :param sender: the process that has committed them; its own messages are dropped
        :param usages: id, generation, described, number of claims and their sum (allocations) of
            each host whose claims changed
        :param stale: ids of hosts of which anything else changed: to be read again
        :param removed: ids of hosts that are gone
        :param heard: id and time of reports without news
        :param cells: time of the last liveness report of each cell, by uuid
        :param aggregates: whether aggregates changed
        """


class CellScheduler(interface.Interface):
    """The interface for a cell's conductors and hosts, limited to that cell.

    Served by the same schedulers. The first bus user that reports the liveness of a cell owns that
    cell from then on, and no other.
    """

    topic = "cell-scheduler"
    version = "1.4"
    callers = frozenset({Level.CELL})

    @interface.call(since="1.0", added={"beside": "1.1"}, own_cell="request_spec.requested_cell")
    def select_destinations(
        self,
        context: RequestContext,
        *,
        request_spec: ResourceRequest,
        instance_uuids: list[str],
        alternates: int,
        beside: str | None = None,
    ) -> list[list[Selection]]:
        """As :meth:`Scheduler.select_destinations`, within the cell.

        :raises roost.exception.Forbidden: when an instance holds a claim in another cell
        """

    @interface.cast(since="1.0", own_host="report.host", own_cell="report.cell_uuid")
    def update_resource_stats(self, context: RequestContext, *, report: HostReport) -> None:
        """Process a host's report of its resources.

        The claims of the instances that it lists are confirmed; differences between claims and
        instances are repaired. A report older than the last one of its (host, node) is dropped.

        :raises roost.exception.Forbidden: when another cell has a host of that name
        :raises roost.exception.Invalid: when it says what others could not read; see
            :mod:`roost.objects.report_check`
        """

    @interface.call(since="1.3", own_cell=NOTHING)
    def list_read_parts(self, context: RequestContext) -> list[str]:
        """Return the parts of reports that any scheduler reads; hosts may leave out the others.

        See :mod:`roost.objects.report_parts`. A scheduler with another configuration counts at
        once, one that has ended for some minutes more.
        """

    @interface.call(
        since="1.0", added={"leaving": "1.1", "arrived": "1.2"}, own_cell="to.cell_uuid"
    )
    def move_claim(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        request_spec: ResourceRequest,
        to: Selection,
        leaving: str | None = None,
        arrived: bool = False,
    ) -> Selection:
        """Claim ``to`` for the instance, and delete its claim on the host that it leaves.

        A claim on ``to`` that has grown (see :meth:`select_destinations`) becomes as large as the
        request.

        :param leaving: the host that it leaves, in the same step, unless it has a claim on ``to``
            already; None: its other claims stay
        :param arrived: the instance is on ``to``: its claim there does not expire
        :returns: ``to``, with the claimed resources
        :raises roost.exception.NoCapacity: when ``to`` has no capacity for it; the old claim
            stays
        :raises roost.exception.Forbidden: when it holds one in another cell
        """

    @interface.call(since="1.0", added={"reserved": "1.4"}, own_cell=ROWS)
    def release_claims(
        self,
        context: RequestContext,
        *,
        instance_uuids: list[str],
        host: str | None = None,
        reserved: bool = False,
    ) -> None:
        """As :meth:`Scheduler.release_claims`, within the cell.

        :raises roost.exception.Forbidden: when an instance holds a claim in another cell
        """

    @interface.cast(since="1.0", own_cell="liveness.cell_uuid")
    def update_liveness(self, context: RequestContext, *, liveness: CellLiveness) -> None:
        """Update the set of a cell's hosts that are up.

        A cell whose reports stop is down.
        """
