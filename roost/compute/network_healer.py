"""Looks for changes of ports that no event told of, and lets rows follow.

Neutron tells of a change once, which may be lost on the way: the host or the bus was away. So a
host compares now and then how the ports of its guests are with how they were. It asks for many
guests at once, and for so many and no more each time.
"""

import bisect
import logging
from collections.abc import Callable, Iterable
from typing import Final

from roost import exception
from roost.compute.host import Host
from roost.compute.locks import Locks
from roost.compute.network.driver import DescribesPorts
from roost.context import admin_context
from roost.objects import Instance, NetworkInfo

LOG = logging.getLogger(__name__)
AT_ONCE: Final = 100  # guests that one look is about


class NetworkHealer:
    """Refreshes the rows of one host's guests whose ports have changed.

    :param locks: held by whoever works on an instance
    :param is_building: whether a build of an instance is under way or waits
    """

    def __init__(self, host: Host, *, locks: Locks, is_building: Callable[[str], bool]) -> None:
        self._host = host
        self._locks = locks
        self._is_building = is_building
        self._known: dict[str, NetworkInfo | None] = {}
        self._last = ""

    def fill(self, instances: Iterable[Instance]) -> None:
        """Note how the rows of instances say that their ports are."""
        self._known |= {str(one.uuid): one.network_info for one in instances}

    def run(self) -> None:
        """Look at the next guests, from the first again after the last.

        :raises roost.exception.Unavailable: when nobody says how ports are; they are next again
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
        """Let a row follow, unless somebody works on the instance, who may change its ports."""
        if self._locks.is_held(uuid) or self._is_building(uuid):
            return
        with self._locks.hold(uuid):
            try:
                networks.refresh(admin_context(), uuid)
            except exception.Unavailable:
                raise
            except exception.RoostError as error:
                LOG.warning("%s: its ports cannot be told: %s", uuid, error.message)
                return
        self._known[uuid] = info
