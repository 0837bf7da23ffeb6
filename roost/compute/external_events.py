"""What neighbours tell of instances on this host.

Before: ``api/server_external_events.py`` casts here. Events are hints: whoever waits for one looks
for itself now and then, so a lost one costs time and nothing else.
"""

import logging
from collections.abc import Callable, Hashable, Sequence

from roost import exception
from roost.compute.host import Host
from roost.compute.locks import Locks
from roost.compute.network.driver import HearsEvents
from roost.compute.virt.driver import AttachesInterfaces
from roost.context import RequestContext
from roost.objects import ExternalEvent
from roost.objects import external_event as names

LOG = logging.getLogger(__name__)
Handle = Callable[[RequestContext, ExternalEvent], None]


class News:
    """Hands events to those whom they concern.

    :param locks: held by whoever works on an instance
    :param is_building: whether a build of an instance is under way or waits
    :param look: compares guests with rows
    :param later: does something for an instance, told apart by a key, while nobody waits for it
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
        self._handlers: dict[str, Handle] = {
            names.VIF_PLUGGED: self._hear,
            names.VIF_UNPLUGGED: self._hear,
            names.VIF_DELETED: self._when_free(self._lose),
            names.NETWORK_CHANGED: self._when_free(self._refresh),
            names.POWER_UPDATE: lambda _context, _event: self._look(),
        }

    def take(self, context: RequestContext, events: Sequence[ExternalEvent]) -> None:
        """Let each event have its effect; one that fails is no reason to lose the others."""
        for event in sorted(events, key=_may_wait):
            LOG.info("%s: %s %s %s", event.instance_uuid, event.name, event.tag, event.status)
            try:
                self._handlers.get(str(event.name), _nothing)(context, event)
            except exception.RoostError as error:
                LOG.warning("%s: %s: %s", event.instance_uuid, event.name, error.message)
            except Exception:
                LOG.exception("%s: %s", event.instance_uuid, event.name)

    def _when_free(self, handle: Handle) -> Handle:
        def put(context: RequestContext, event: ExternalEvent) -> None:
            key = (event.name, event.tag)
            self._later(str(event.instance_uuid), key, lambda: handle(context, event))

        return put

    def _hear(self, _context: RequestContext, event: ExternalEvent) -> None:
        if isinstance(self._host.networks, HearsEvents):
            self._host.networks.hear(event)

    def _refresh(self, context: RequestContext, event: ExternalEvent) -> None:
        """Look at the ports; a build under way does that by itself when it ends."""
        networks, uuid = self._host.networks, str(event.instance_uuid)
        if isinstance(networks, HearsEvents) and not self._is_building(uuid):
            with self._locks.hold(uuid):
                networks.refresh(context, uuid)

    def _lose(self, context: RequestContext, event: ExternalEvent) -> None:
        """Take the interface of a port that is no more from the guest."""
        virt, uuid = self._host.virt, str(event.instance_uuid)
        if event.tag is None or self._is_building(uuid):
            return
        if isinstance(virt, AttachesInterfaces):
            with self._locks.hold(uuid):
                virt.detach_interface(uuid, event.tag)
        self._refresh(context, event)


def _nothing(_context: RequestContext, event: ExternalEvent) -> None:
    LOG.debug("%s: nothing here has use for %s", event.instance_uuid, event.name)


def _may_wait(event: ExternalEvent) -> bool:
    """Let those pass first for which a build may be waiting."""
    return event.name not in (names.VIF_PLUGGED, names.VIF_UNPLUGGED)
