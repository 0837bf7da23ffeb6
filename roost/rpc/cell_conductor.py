"""What the hosts of a cell may ask of its cell-conductors: their only way to data."""

from typing import Any

from roost.context import RequestContext
from roost.objects import (
    HostFinding,
    Instance,
    InstanceActionEvent,
    InstanceLocation,
    NetworkInfo,
    NetworkRequest,
    RoostObject,
    Selection,
    Vif,
)
from roost.rpc import interface
from roost.rpc.access import NOTHING

# A host that comes before its conductor speaks to nobody: the message is dropped, and it must not
# wait for long before it speaks again.
HEARTBEAT_TIMEOUT = 5  # seconds
# What a host insists on is asked again when a conductor has died over it: well within a lease.
ANSWER_TIMEOUT = 15  # seconds


class CellConductor(interface.Interface):
    """Served on each cell's bus, by any number of cell-conductors."""

    topic = "cell-conductor"
    version = "1.3"
    in_cell = True

    @interface.call(
        since="1.0", added={"state_id": "1.2"}, timeout=HEARTBEAT_TIMEOUT, own_host="host"
    )
    def report_service(
        self,
        context: RequestContext,
        *,
        host: str,
        binary: str,
        availability_zone: str | None = None,
        state_id: str | None = None,
    ) -> dict[str, Any]:
        """Note that a daemon is alive, and tell it where it is.

        :param state_id: of a host: see :mod:`roost.compute.host_identity`
        :returns: ``cell_uuid``, ``cell_name``, ``service_uuid``, ``disabled``; of two words on
            whether it is disabled the one with the higher ``disabled_version`` counts
        :raises roost.exception.Conflict: when it is not the daemon of this name that the cell knows
        :raises roost.exception.Forbidden: for a host that says that it is another daemon
        :raises roost.exception.Unavailable: while nobody has mapped this cell
        """

    @interface.call(since="1.0", timeout=ANSWER_TIMEOUT, own_host="host")
    def begin_build(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        host: str,
        attempt: int,
        selection: Selection | None = None,
    ) -> bool:
        """Take up a build on a host, once.

        :param selection: the place that the host was told of. Its claim may have run out while the
            message waited; by now the instance may have another place there, or none
        :returns: whether the instance is still wanted there: False when it was deleted, moved, has
            another place, or this attempt was begun before
        """

    @interface.call(since="1.0", timeout=ANSWER_TIMEOUT, own_host="host")
    def allocate_networks(
        self, context: RequestContext, *, instance_uuid: str, host: str, attempt: int
    ) -> NetworkInfo:
        """Give the instance the ports it asked for, bound to ``host``; it keeps those it has.

        :raises roost.exception.Conflict: when the build is no longer wanted
        :raises roost.exception.NoCapacity: when a network has no address left
        :raises roost.exception.NotFound: when it asks for a network that this cell does not have
        """

    @interface.call(since="1.0", timeout=ANSWER_TIMEOUT, own_host="host")
    def free_networks(self, context: RequestContext, *, instance_uuid: str, host: str) -> None:
        """Take all ports of an instance on ``host`` away.

        :raises roost.exception.Conflict: when it is on another host
        """

    @interface.call(since="1.0", timeout=ANSWER_TIMEOUT, own_host="host")
    def attach_port(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        host: str,
        request: NetworkRequest,
        key: str,
    ) -> Vif:
        """Give an instance on ``host`` one more port, and let its row say so.

        :param key: of this request, and of the port that comes of it: it is made once
        :raises roost.exception.Conflict: when the instance is in no state for that, or the address
            is taken
        :raises roost.exception.NotFound: when this cell has no such network
        :raises roost.exception.Invalid: when the network cannot give that address
        :raises roost.exception.NoCapacity: when the network has no address left
        """

    @interface.call(since="1.0", timeout=ANSWER_TIMEOUT, own_host="host")
    def detach_port(
        self, context: RequestContext, *, instance_uuid: str, host: str, port_id: str
    ) -> None:
        """Take one port away from an instance on ``host``; one that is not there is fine.

        :raises roost.exception.Conflict: when the instance is in no state for that
        :raises roost.exception.NotFound: when the instance is gone
        """

    @interface.call(since="1.1", timeout=ANSWER_TIMEOUT, own_host="host")
    def describe_filtering(
        self, context: RequestContext, *, host: str, network_ids: list[str]
    ) -> dict[str, Any]:
        """Return what may pass at the ports on a host, by network.

        :returns: for each network what :meth:`roost.security_groups.Filtering.read` reads
        """

    @interface.call(since="1.0", timeout=ANSWER_TIMEOUT, own_host="expected.host")
    def instance_update(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        changes: dict[str, Any],
        expected: dict[str, Any],
        events: list[InstanceActionEvent],
    ) -> None:
        """Change an instance if it still is as expected, and add events to its latest action.

        ``changes`` may name vm_state, task_state, power_state, network_info, config_drive, image,
        and launched_at (any time: the row gets that of the cell's own clock); ``expected`` may name
        host, attempt, vm_state and task_state (a value or a list of them).

        :raises roost.exception.Conflict: when it is not as expected; nothing is changed then
        :raises roost.exception.NotFound: when it is gone
        """

    @interface.cast(since="1.0", added={"told": "1.3"}, carries_token=True, own_host="host")
    def build_instances(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        host: str,
        attempt: int,
        reason: str,
        events: list[InstanceActionEvent],
        told: str | None = None,
    ) -> None:
        """Build an instance elsewhere in the cell: this attempt, on ``host``, failed.

        :param told: what its user reads of the ``reason``, if there is no other host
        """

    @interface.cast(since="1.0", own_host="host")
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
        """End a build in ERROR: it failed for a ``reason`` that no other host would cure."""

    @interface.call(since="1.0", timeout=ANSWER_TIMEOUT, own_host="host")
    def finish_delete(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        host: str,
        events: list[InstanceActionEvent],
    ) -> None:
        """Bury an instance whose guest is gone from ``host``: ports, claim, row.

        When the instance has meanwhile moved to another host, that host is told to end it.

        :raises roost.exception.Conflict: when its row does not say that it is being deleted
        """

    @interface.call(since="1.0", timeout=HEARTBEAT_TIMEOUT, own_host="host")
    def renew_leases(
        self,
        context: RequestContext,
        *,
        host: str,
        tasks: list[list[Any]],
        nothing_else: bool = False,
    ) -> dict[str, Any]:
        """Let a host go on with all that it works on; each lease is as long as if it began now.

        :param tasks: for each piece of work [instance uuid, attempt or None, task states]: the row
            must name this host, have that attempt (if one is named) and be in one of those states
        :param nothing_else: the host works on nothing but these: its other leases end at once
        :returns: ``seconds``, the length of a lease from the moment of the question; ``lost``, the
            places in ``tasks`` of those that are not the host's to work on any more
        """

    @interface.call(since="1.0", own_host="host")
    def list_instances(self, context: RequestContext, *, host: str) -> list[Instance]:
        """Return the instances that belong on a host, those under way included."""

    @interface.call(since="1.0", own_host="host")
    def whereabouts(
        self,
        context: RequestContext,
        *,
        host: str,
        instance_uuids: list[str],
        and_others_here: bool = False,
    ) -> list[InstanceLocation]:
        """Return where instances are by their rows, as seen from a host.

        :param and_others_here: return all others that belong on that host, too; the host has no
            other guests than those named
        """

    @interface.call(since="1.0", timeout=ANSWER_TIMEOUT, own_host="host")
    def begin_task(
        self, context: RequestContext, *, instance_uuid: str, host: str, tasks: list[str]
    ) -> Instance | None:
        """Return an instance that is on this host and under one of these tasks; else nothing."""

    @interface.call(since="1.0", own_host="host")
    def report_power(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        host: str,
        power_state: int | None,
        expected: dict[str, Any],
        events: list[InstanceActionEvent],
        reason: str | None = None,
        rescued: bool = False,
        failed: bool = False,
    ) -> None:
        """Let an instance rest as its host found its guest, if its row is as expected.

        :param power_state: of the guest; None: it is gone, which means ERROR
        :param expected: may name vm_state and task_state; a task ends, with these events
        :param reason: why it is not as it was asked for, in words for the user
        :param rescued: it is started from another image than its own
        :param failed: however it is, it is not fit for use, which means ERROR
        :raises roost.exception.Conflict: when it is not as expected; nothing is changed then
        :raises roost.exception.NotFound: when it is gone
        """

    @interface.cast(since="1.0", own_host="finding.host")
    def report_finding(self, context: RequestContext, *, finding: HostFinding) -> None:
        """Tell operators what a host found to be other than the cell says, and what it did."""

    @interface.call(since="1.0", own_host=NOTHING)
    def object_backport(
        self, context: RequestContext, *, objinst: RoostObject, versions: dict[str, str]
    ) -> RoostObject:
        """Return an object in the versions that the asker knows.

        The asker sends it as it came, as a primitive; here it is known, so it arrives whole. The
        answer is a primitive, which becomes an object again at the asker's.
        """
