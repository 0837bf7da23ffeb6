"""What the hosts of a cell may ask of its cell-conductors: their only way to data."""

from typing import Any

from roost.context import RequestContext
from roost.objects import Instance, InstanceActionEvent, NetworkInfo, RoostObject
from roost.rpc import interface

# A host that comes before its conductor speaks to nobody: the message is dropped, and it must not
# wait for long before it speaks again.
HEARTBEAT_TIMEOUT = 5  # seconds


class CellConductor(interface.Interface):
    """Served on each cell's bus, by any number of cell-conductors."""

    topic = "cell-conductor"
    version = "1.0"

    @interface.call(since="1.0", timeout=HEARTBEAT_TIMEOUT)
    def report_service(
        self,
        context: RequestContext,
        *,
        host: str,
        binary: str,
        availability_zone: str | None = None,
    ) -> dict[str, Any]:
        """Note that a daemon is alive, and tell it where it is.

        :returns: ``cell_uuid``, ``cell_name``, ``service_uuid``, ``disabled``
        :raises roost.exception.Unavailable: while nobody has mapped this cell
        """

    @interface.call(since="1.0")
    def begin_build(
        self, context: RequestContext, *, instance_uuid: str, host: str, attempt: int
    ) -> bool:
        """Take up a build on a host, once.

        :returns: whether the instance is still wanted there: False when it was deleted, moved, or
            this attempt was begun before
        """

    @interface.call(since="1.0")
    def allocate_networks(
        self, context: RequestContext, *, instance_uuid: str, host: str, attempt: int
    ) -> NetworkInfo:
        """Give the instance the ports it asked for, bound to ``host``; it keeps those it has.

        :raises roost.exception.Conflict: when the build is no longer wanted
        :raises roost.exception.NoCapacity: when a network has no address left
        :raises roost.exception.NotFound: when it asks for a network that this cell does not have
        """

    @interface.call(since="1.0")
    def free_networks(self, context: RequestContext, *, instance_uuid: str) -> None:
        """Take all ports of the instance away."""

    @interface.call(since="1.0")
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

        ``changes`` may name vm_state, task_state, power_state, launched_at and network_info;
        ``expected`` may name host, attempt, vm_state and task_state (a value or a list of them).

        :raises roost.exception.Conflict: when it is not as expected; nothing is changed then
        :raises roost.exception.NotFound: when it is gone
        """

    @interface.cast(since="1.0")
    def build_instances(
        self,
        context: RequestContext,
        *,
        instance_uuid: str,
        host: str,
        attempt: int,
        reason: str,
        events: list[InstanceActionEvent],
    ) -> None:
        """Build an instance elsewhere in the cell: this attempt, on ``host``, failed."""

    @interface.cast(since="1.0")
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

    @interface.call(since="1.0")
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
        """

    @interface.call(since="1.0")
    def list_instances(self, context: RequestContext, *, host: str) -> list[Instance]:
        """Return the instances that belong on a host, those under way included."""

    @interface.call(since="1.0")
    def object_backport(
        self, context: RequestContext, *, objinst: RoostObject, versions: dict[str, str]
    ) -> RoostObject:
        """Return an object in the versions that the asker knows.

        The asker sends it as it came, as a primitive; here it is known, so it arrives whole. The
        answer is a primitive, which becomes an object again at the asker's.
        """
