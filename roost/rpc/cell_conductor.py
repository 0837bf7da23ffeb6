"""RPC interface of the cell-conductors: the only access to the database that hosts have."""

from typing import Any

from roost.context import RequestContext
from roost.objects import (
    HostFinding,
    Instance,
    InstanceActionEvent,
    InstanceLocation,
    NetworkInfo,
    NetworkRequest,
    Operation,
    RoostObject,
    Vif,
)
from roost.operations.kinds import KINDS
from roost.rpc import interface
from roost.rpc.access import NOTHING

_BUILDS = tuple(kind.name for kind in KINDS.values() if kind.builds)
# While no conductor runs, heartbeats are dropped: a host that started first must soon send another.
HEARTBEAT_TIMEOUT = 5  # seconds
# A host repeats a request when its conductor died: this timeout must end well within a lease.
ANSWER_TIMEOUT = 15  # seconds


class CellConductor(interface.Interface):
    """Served on each cell's bus, by any number of cell-conductors."""

    topic = "cell-conductor"
    version = "1.6"
    in_cell = True

    @interface.call(
        since="1.0",
        added={"state_id": "1.2", "version": "1.3"},
        timeout=HEARTBEAT_TIMEOUT,
        own_host="host",
    )
    def report_service(
        self,
        context: RequestContext,
        *,
        host: str,
        binary: str,
        availability_zone: str | None = None,
        state_id: str | None = None,
        version: str | None = None,
    ) -> dict[str, Any]:
        """Record that a daemon is alive, and return its cell and service.

        :param state_id: of a host: see :mod:`roost.compute.host_identity`
        :param version: of a host: that of its :mod:`roost.rpc.compute`
        :returns: ``cell_uuid``, ``cell_name``, ``service_uuid``, ``disabled`` and
            ``disabled_version``: of two reports the higher version of ``disabled`` counts;
            ``read_parts``: of a host's report, by schedulers; None: not known yet; ``now``: the
            time by the clock of the cell's database; ``notifies``: the cell sends notifications of
            operations that begin
        :raises roost.exception.Conflict: when the cell knows another daemon of this name
        :raises roost.exception.Forbidden: for a host that claims to be another binary
        :raises roost.exception.Unavailable: while this cell is not mapped
        """

    @interface.call(since="1.0", timeout=ANSWER_TIMEOUT, own_host="host")
    def allocate_networks(
        self, context: RequestContext, *, instance_uuid: str, host: str, attempt: int
    ) -> NetworkInfo:
        """Create the instance's requested ports, bound to ``host``; existing ports stay.

        :raises roost.exception.Conflict: when the build is no longer wanted
        :raises roost.exception.NoCapacity: when a network has no address left
        :raises roost.exception.NotFound: when it asks for a network that this cell does not have
        """

    @interface.call(since="1.0", timeout=ANSWER_TIMEOUT, own_host="host")
    def free_networks(self, context: RequestContext, *, instance_uuid: str, host: str) -> None:
        """Delete all ports of an instance on ``host``.

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
        """Add a port to an instance on ``host``, and record it in the instance's row.

        :param key: idempotency key of this request, and id of the new port
        :raises roost.exception.Conflict: when the instance's state forbids it, or the address is
            taken
        :raises roost.exception.NotFound: when this cell has no such network
        :raises roost.exception.Invalid: when the network cannot give that address
        :raises roost.exception.NoCapacity: when the network has no address left
        """

    @interface.call(since="1.0", timeout=ANSWER_TIMEOUT, own_host="host")
    def detach_port(
        self, context: RequestContext, *, instance_uuid: str, host: str, port_id: str
    ) -> None:
        """Remove one port from an instance on ``host``; a missing port is no error.

        :raises roost.exception.Conflict: when the instance's state forbids it
        :raises roost.exception.NotFound: when the instance does not exist
        """

    @interface.call(since="1.1", timeout=ANSWER_TIMEOUT, own_host="host")
    def describe_filtering(
        self, context: RequestContext, *, host: str, network_ids: list[str]
    ) -> dict[str, Any]:
        """Return the traffic that is allowed at the ports on a host, by network.

        :returns: for each network the input of :meth:`roost.security_groups.Filtering.read`
        """

    @interface.call(since="1.0", timeout=ANSWER_TIMEOUT, own_host="expected.host")
    def write_interfaces(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        network_info: NetworkInfo,
        expected: dict[str, Any],
        spawns: bool = False,
    ) -> None:
        """Write the interfaces of an instance, as its host has found them, if it is as expected.

        :param expected: host, attempt, vm_state and task_state, or some of them (a value or a list)
        :param spawns: whether it is being built, and its guest is created next
        :raises roost.exception.Conflict: when the row is not as expected; nothing is changed then
        :raises roost.exception.NotFound: when the instance does not exist
        """

    @interface.call(since="1.0", timeout=HEARTBEAT_TIMEOUT, own_host="host")
    def renew_leases(
        self,
        context: RequestContext,
        *,
        host: str,
        operations: list[str],
        nothing_else: bool = False,
    ) -> dict[str, Any]:
        """Renew the leases of a host's work; each begins again at the time of the request.

        :param operations: uuids of operations that are at work, or wait, on this host
        :param nothing_else: the host has no other work: its other leases end at once
        :returns: ``seconds``, the length of a lease from the time of the request; ``lost``, those
            of ``operations`` that the host has no more; ``now``, as of a report
        """

    @interface.call(since="1.0", added={"instance_uuids": "1.5"}, own_host="host")
    def list_instances(
        self, context: RequestContext, *, host: str, instance_uuids: list[str] | None = None
    ) -> list[Instance]:
        """Return the instances of a host, including those with a task under way.

        :param instance_uuids: only those of these; None: all
        """

    @interface.call(since="1.0", own_host="host")
    def locate_instances(
        self,
        context: RequestContext,
        *,
        host: str,
        instance_uuids: list[str],
        and_others_here: bool = False,
    ) -> list[InstanceLocation]:
        """Return the locations of instances by their rows, as seen from a host.

        :param and_others_here: also return all other instances of that host; the host has no
            guests except those named
        """

    @interface.call(since="1.0", timeout=ANSWER_TIMEOUT, own_host="operation.host")
    def begin_operation(self, context: RequestContext, *, operation: Operation) -> Operation | None:
        """Give a host a lease on its operation, from the time of the request.

        :returns: the operation, with image and instance if the kind needs them; None: it is over,
            or another host's
        """

    @interface.call(since="1.0", own_host="operation.host")
    def advance_operation(
        self, context: RequestContext, *, operation: Operation, changes: dict[str, Any]
    ) -> str | None:
        """Change the instance in the middle of an operation: to its next task state, mostly.

        Of a step of a move ``changes`` are the bytes of disks and memory by their columns, such as
        ``disk_total_bytes`` and ``disk_processed_bytes``, which is copied by now.

        :returns: what the host is asked meanwhile: ``abort`` or ``force_complete``; None: nothing
        :raises roost.exception.Conflict: when the operation is over; nothing is changed then
        :raises roost.exception.NotFound: when the instance does not exist
        """

    @interface.call(
        since="1.0",
        timeout=ANSWER_TIMEOUT,
        added={
            "handover": "1.4",
            "network_info": "1.4",
            "code": "1.6",
            "details": "1.6",
            "config_drive": "1.6",
        },
        carries_token={"operation.kind": _BUILDS, "outcome": ("failed",)},
        own_host="operation.host",
    )
    def end_operation(
        self,
        context: RequestContext,
        *,
        operation: Operation,
        power_state: int | None,
        events: list[InstanceActionEvent],
        outcome: str,
        vm_state: str | None = None,
        reason: str | None = None,
        handover: str | None = None,
        network_info: NetworkInfo | None = None,
        code: str | None = None,
        details: str | None = None,
        config_drive: bool = False,
    ) -> None:
        """End a step of an operation with these events.

        The next step is sent to its host; after the last one the instance gets the state of its
        guest. A build that has failed is sent to another host, with the token of its user.

        :param power_state: of the guest; None: there is no guest, the instance goes to ERROR
        :param vm_state: by the guest; None: the hypervisor cannot describe it
        :param outcome: one of :class:`roost.operations.advance.Outcome`
        :param reason: why the operation failed, as the user may read it
        :param handover: of a move: what the destination has prepared for the source, as JSON
        :param network_info: of a move or a build: the interfaces as the host has plugged them
        :param code: of the error with which it failed
        :param details: why it failed, for administrators
        :param config_drive: of a build: the guest has one, even if its user did not ask for it
        :raises roost.exception.Conflict: when the operation is over; nothing is changed then
        :raises roost.exception.NotFound: when the instance does not exist
        :raises roost.exception.Invalid: for an unknown kind
        """

    @interface.call(since="1.0", own_host="host")
    def report_power(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        host: str,
        seen: str,
        power_state: int | None,
        events: list[InstanceActionEvent],
        vm_state: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Set the state of an instance without a task by its guest, which changed by itself.

        :param seen: the vm state in which the host saw the row
        :param power_state: of the guest; None: there is no guest, the instance goes to ERROR
        :param vm_state: by the guest; None: the hypervisor cannot describe it
        :param reason: what has happened, as the user may read it
        :raises roost.exception.Conflict: when the row is not as it was seen; nothing is changed
            then
        :raises roost.exception.NotFound: when the instance does not exist
        """

    @interface.cast(since="1.0", own_host="finding.host")
    def report_finding(self, context: RequestContext, *, finding: HostFinding) -> None:
        """Notify operators of a difference between host and cell, and of what the host did."""

    @interface.call(since="1.0", own_host=NOTHING)
    def object_backport(
        self, context: RequestContext, *, objinst: RoostObject, versions: dict[str, str]
    ) -> RoostObject:
        """Return an object in the versions that the caller supports.

        The caller sends the primitive that it received; the conductor supports its version, so it
        arrives as an object. The answer is a primitive, which the caller makes into an object.
        """
