"""What a build asks of the networking: the seam that ``roost.compute.network`` plug-ins fill.

A plug-in is a class with ``from_conf(conf, conductor)``, named by an entry point of that group.
"""

import threading
from collections.abc import Collection, Mapping
from typing import Protocol, runtime_checkable

from roost.context import RequestContext
from roost.objects import ExternalEvent, Instance, NetworkInfo, NetworkRequest, Vif


class NetworkDriver(Protocol):
    """Gives instances their interfaces.

    ``host_bound`` says that an interface cannot follow its instance to another host (bare metal):
    a build that fails then frees the networks, and the next host allocates them anew.
    """

    @property
    def host_bound(self) -> bool: ...

    def allocate(self, context: RequestContext, instance: Instance) -> NetworkInfo:
        """Give the instance what it asked for, bound to its host; it keeps what it has.

        :raises roost.exception.Conflict: when its build is no longer wanted
        :raises roost.exception.BuildFailed: when it cannot have what it asked for
        """

    def free(self, context: RequestContext, instance: Instance) -> None:
        """Take its interfaces away; safe to repeat."""

    def attach(
        self, context: RequestContext, instance: Instance, request: NetworkRequest, *, key: str
    ) -> Vif:
        """Give the instance one more interface and let its row say so; the same key, the same one.

        :raises roost.exception.Conflict: when the instance is in no state for that, or what was
            asked for belongs to another
        :raises roost.exception.NotFound: when what was asked for is not there
        :raises roost.exception.Invalid: when it cannot be had
        :raises roost.exception.NoCapacity: when there is no room
        """

    def detach(self, context: RequestContext, instance: Instance, port_id: str) -> None:
        """Take one interface away, and out of its row; one that is not there is fine.

        :raises roost.exception.Conflict: when the instance is in no state for that
        """


@runtime_checkable
class ReceivesEvents(Protocol):
    """A driver whose ports live elsewhere, where they may change."""

    def hear(self, event: ExternalEvent) -> None:
        """Take notice of an event of a port; must not wait."""

    def refresh(self, context: RequestContext, instance_uuid: str) -> None:
        """Let the row of an instance say how its ports are by now."""


@runtime_checkable
class DescribesPorts(ReceivesEvents, Protocol):
    """One that can be asked how the ports are, in case an event was lost."""

    def describe(self, instance_uuids: Collection[str]) -> Mapping[str, NetworkInfo]:
        """Return how the ports of instances are by now; of one that has none, that.

        :raises roost.exception.Unavailable: when nobody says so
        """


@runtime_checkable
class PlugsGuests(Protocol):
    """A driver that keeps something on the host for each guest; it all may be repeated."""

    def plug(self, instance: Instance, info: NetworkInfo) -> NetworkInfo:
        """Have the host ready for the interfaces of a guest, and say what they are plugged into.

        ``allocate`` and ``attach`` do it by themselves; what was plugged otherwise is so no more.

        :raises roost.exception.BuildFailed: when they cannot be
        """

    def unplug(self, instance_uuid: str) -> None:
        """Leave nothing of what was kept for a guest, which is no more."""

    def plugged(self) -> list[str]:
        """Return the instances that something is kept for."""

    def restore(self) -> None:
        """Put right what is not as it should be, as after a restart; failures are in the log."""


@runtime_checkable
class FiltersGuests(Protocol):
    """A driver that lets pass what security groups say, by packet filters of this host."""

    def refresh_groups(self, context: RequestContext, project_id: str) -> None:
        """Ask what may pass at the ports of a project's guests, and have it so.

        :raises roost.exception.Unavailable: when the cell does not answer; all stays as it is
        """


@runtime_checkable
class AwaitsPlugging(Protocol):
    """A driver whose ports work only some time after the guest was plugged into them."""

    def await_plugged(
        self, instance: Instance, info: NetworkInfo, *, stopped: threading.Event
    ) -> NetworkInfo:
        """Wait until the interfaces work, and return how they are then.

        :param stopped: once set, nobody waits any more
        :raises roost.exception.BuildFailed: when they do not in time
        """
