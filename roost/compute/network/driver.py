"""The interface of network drivers, which are plug-ins of ``roost.compute.network``.

A plug-in is a class with ``from_conf(conf, conductor)``, named by an entry point of that group.
"""

import threading
from collections.abc import Collection, Mapping
from typing import Protocol, runtime_checkable

from roost.context import RequestContext
from roost.objects import ExternalEvent, Instance, NetworkInfo, NetworkRequest, Vif


class NetworkDriver(Protocol):
    """Gives instances their interfaces.

    ``host_bound``: an interface cannot move with its instance to another host (bare metal), so a
    build that fails frees the networks, and the next host allocates new ones.
    """

    @property
    def host_bound(self) -> bool: ...

    def allocate(self, context: RequestContext, instance: Instance) -> NetworkInfo:
        """Allocate the requested interfaces, bound to the instance's host; existing ones stay.

        :raises roost.exception.Conflict: when its build is no longer wanted
        :raises roost.exception.BuildFailed: when they cannot be allocated
        """

    def free(self, context: RequestContext, instance: Instance) -> None:
        """Release the instance's interfaces; may be repeated."""

    def attach(
        self, context: RequestContext, instance: Instance, request: NetworkRequest, *, key: str
    ) -> Vif:
        """Add an interface to the instance and its row; the same key returns the same interface.

        :raises roost.exception.Conflict: when the instance's state does not allow it, or the port
            or address belongs to another instance
        :raises roost.exception.NotFound: when the network or port does not exist
        :raises roost.exception.Invalid: when the request cannot be fulfilled
        :raises roost.exception.NoCapacity: when there is no free address
        """

    def detach(self, context: RequestContext, instance: Instance, port_id: str) -> None:
        """Remove an interface from the instance and its row; may be repeated.

        :raises roost.exception.Conflict: when the instance's state does not allow it
        """


@runtime_checkable
class ReceivesEvents(Protocol):
    """A driver whose ports belong to an external service, which may change them."""

    def hear(self, event: ExternalEvent) -> None:
        """Receive an event of a port; must not block."""

    def refresh(self, context: RequestContext, instance_uuid: str) -> None:
        """Update the row of an instance to the current state of its ports."""


@runtime_checkable
class DescribesPorts(ReceivesEvents, Protocol):
    """A driver that can read the current state of ports, in case an event was lost."""

    def describe(self, instance_uuids: Collection[str]) -> Mapping[str, NetworkInfo]:
        """Return the current ports of each instance, also of those without ports.

        :raises roost.exception.Unavailable: when the external service does not answer
        """


@runtime_checkable
class PlugsGuests(Protocol):
    """A driver that creates devices on the host for each guest; all methods may be repeated."""

    def plug(self, instance: Instance, info: NetworkInfo) -> NetworkInfo:
        """Prepare the host for these interfaces of a guest, and return what they are plugged into.

        ``allocate`` and ``attach`` call it themselves; other interfaces of the guest are unplugged.

        :raises roost.exception.BuildFailed: when they cannot be plugged
        """

    def unplug(self, instance_uuid: str) -> None:
        """Remove everything of a guest that no longer exists."""

    def plugged(self) -> list[str]:
        """Return the instances that have something plugged."""

    def restore(self) -> None:
        """Recreate missing devices, for example after a reboot; failures are logged."""


@runtime_checkable
class ExpectsGuests(Protocol):
    """A driver whose ports can be prepared on this host while they work on another one."""

    def expect(self, instance: Instance) -> NetworkInfo:
        """Plug here the interfaces of a guest that runs elsewhere; may be repeated.

        ``allocate`` binds them to the host that has the guest, and forgets all others.

        :raises roost.exception.BuildFailed: when they cannot be bound or plugged here
        """


@runtime_checkable
class FiltersGuests(Protocol):
    """A driver that implements security groups by packet filters of this host."""

    def refresh_groups(self, context: RequestContext, project_id: str) -> None:
        """Fetch the security group rules of a project's guests, and apply them.

        :raises roost.exception.Unavailable: when the cell does not answer; nothing changes
        """


@runtime_checkable
class AwaitsPlugging(Protocol):
    """A driver whose ports become active only some time after the guest was plugged."""

    def await_plugged(
        self, instance: Instance, info: NetworkInfo, *, stopped: threading.Event
    ) -> NetworkInfo:
        """Wait until the interfaces are active, and return their state then.

        :param stopped: once set, the wait ends
        :raises roost.exception.BuildFailed: when they do not become active in time
        """
