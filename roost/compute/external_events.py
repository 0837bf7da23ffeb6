"""External events of instances on this host, and healing of port changes whose event was lost.

Before: ``api/servers/external_events.py`` casts here. Events are hints: a thread that waits for one
also polls, so a lost event only costs time.

Neutron reports a change of a port once, and the event may be lost while the host or the bus is
unavailable. So ``NetworkHealer`` periodically compares the ports of some guests with their last
known state, and updates the rows of those that differ.
"""

import bisect
import logging
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final

from roost import exception
from roost.compute.host import Host
from roost.compute.locks import Locks
from roost.compute.network.driver import DescribesPorts, ReceivesEvents
from roost.compute.virt.driver import AttachesInterfaces
from roost.context import RequestContext, admin_context
from roost.objects import ExternalEvent, Instance, NetworkInfo, network

LOG = logging.getLogger(__name__)
Handle = Callable[[RequestContext, ExternalEvent], None]


class News:
    """Dispatches events to their handlers.

    :param locks: held while a thread works on an instance
    :param is_building: whether a build of an instance is under way or queued
    :param look: compares guests with rows
    :param later: queues work on an instance under a key that identifies it; does not wait for it
    """

    def __init__(
        self,
        host: Host,
        *,
        locks: Locks,
        is_building: Callable[[str], bool],
        look: Callable[[], None],
        later: Callable[[str, Hashable, Callable[[], object]], None],
    ) -> None:
        self._host = host
        self._locks = locks
        self._is_building = is_building
        self._look = look
        self._later = later
        self._guard = threading.Lock()
        self._waiting: dict[str, dict[Hashable, Callable[[], object]]] = {}
        self._handlers: dict[str, Handle] = {
            network.VIF_PLUGGED: self._hear,
            network.VIF_UNPLUGGED: self._hear,
            network.VIF_DELETED: self._when_free(self._lose),
            network.NETWORK_CHANGED: self._when_free(self._refresh),
            network.POWER_UPDATE: lambda _context, _event: self._look(),
        }

    def take(self, context: RequestContext, events: Sequence[ExternalEvent]) -> None:
        """Handle each event; one that fails does not stop the others."""
        for event in sorted(events, key=_may_wait):
            LOG.info(
                "[instance: %s] external event %s %s %s",
                event.instance_uuid,
                event.name,
                event.tag,
                event.status,
            )
            try:
                self._handlers.get(str(event.name), _nothing)(context, event)
            except exception.RoostError as error:
                LOG.warning(
                    "[instance: %s] external event %s failed: %s",
                    event.instance_uuid, event.name, error.message,
                )  # fmt: skip
            except Exception:
                LOG.exception(
                    "[instance: %s] external event %s failed", event.instance_uuid, event.name
                )

    def build_ended(self, instance_uuid: str) -> None:
        """Handle what was reported while an instance was built: its build may not have seen it."""
        with self._guard:
            works = self._waiting.pop(instance_uuid, {})
        for key, work in works.items():
            self._later(instance_uuid, key, work)

    def _when_free(self, handle: Handle) -> Handle:
        def put(context: RequestContext, event: ExternalEvent) -> None:
            uuid, key = str(event.instance_uuid), (event.name, event.tag)
            with self._guard:
                self._waiting.setdefault(uuid, {})[key] = lambda: handle(context, event)
            if not self._is_building(uuid):
                self.build_ended(uuid)

        return put

    def _hear(self, _context: RequestContext, event: ExternalEvent) -> None:
        if isinstance(self._host.networks, ReceivesEvents):
            self._host.networks.hear(event)

    def _refresh(self, context: RequestContext, event: ExternalEvent) -> None:
        """Refresh the ports in the row."""
        networks, uuid = self._host.networks, str(event.instance_uuid)
        if isinstance(networks, ReceivesEvents):
            with self._locks.hold(uuid):
                networks.refresh(context, uuid)

    def _lose(self, context: RequestContext, event: ExternalEvent) -> None:
        """Detach the interface of a deleted port from the guest."""
        virt, uuid = self._host.virt, str(event.instance_uuid)
        if event.tag is None:
            return
        if isinstance(virt, AttachesInterfaces):
            with self._locks.hold(uuid):
                virt.detach_interface(uuid, event.tag)
        self._refresh(context, event)


def _nothing(_context: RequestContext, event: ExternalEvent) -> None:
    LOG.debug("[instance: %s] external event %s has no handler", event.instance_uuid, event.name)


def _may_wait(event: ExternalEvent) -> bool:
    """Sort events that a build may wait for before all others."""
    return event.name not in (network.VIF_PLUGGED, network.VIF_UNPLUGGED)


AT_ONCE: Final = 100  # guests compared in one run


class NetworkHealer:
    """Refreshes the rows of one host's guests whose ports have changed.

    :param locks: held while a thread works on an instance
    :param is_building: whether a build of an instance is under way or queued
    """

    def __init__(self, host: Host, *, locks: Locks, is_building: Callable[[str], bool]) -> None:
        self._host = host
        self._locks = locks
        self._is_building = is_building
        self._known: dict[str, NetworkInfo | None] = {}
        self._last = ""

    def fill(self, instances: Iterable[Instance]) -> None:
        """Note the ports of instances as their rows have them."""
        self._known |= {str(one.uuid): one.network_info for one in instances}

    def run(self) -> None:
        """Compare the ports of the next guests, starting over after the last.

        :raises roost.exception.Unavailable: when Neutron does not answer; the next run retries them
        """
        networks = self._host.networks
        if not isinstance(networks, DescribesPorts):
            return
        batch = self._next()
        for uuid, info in networks.describe(batch).items():
            if info != self._known.get(uuid):
                self._refresh(networks, uuid, info)
        self._last = batch[-1] if batch else ""

    def _next(self) -> list[str]:
        guests = sorted(self._host.virt.list_guests())
        self._known = {uuid: self._known[uuid] for uuid in guests if uuid in self._known}
        first = bisect.bisect_right(guests, self._last)
        return [*guests[first:], *guests[:first]][:AT_ONCE]

    def _refresh(self, networks: DescribesPorts, uuid: str, info: NetworkInfo) -> None:
        """Update a row, unless another thread works on the instance and may change its ports."""
        if self._locks.is_held(uuid) or self._is_building(uuid):
            return
        with self._locks.hold(uuid):
            try:
                networks.refresh(admin_context(), uuid)
            except exception.Unavailable:
                raise
            except exception.RoostError as error:
                LOG.warning("[instance: %s] ports cannot be refreshed: %s", uuid, error.message)
                return
        self._known[uuid] = info
