"""What Roost asks of a service group: the seam that ``roost.servicegroup`` plug-ins fill.

A plug-in is a class with ``from_conf(conf, *, binary)``, named by an entry point of that group;
``load_group`` makes the one that ``[servicegroup] driver`` names. The daemons of a cell report that
they live; cell-conductors and the API level ask who does. ``ListeningTime`` is for how long this
process could have received that: who receives nothing must call nobody down.
"""

import datetime
import threading
from collections.abc import Sequence
from typing import Protocol

from oslo_config import cfg

from roost import plugins
from roost.objects import Service


class ServiceGroup(Protocol):
    """The living daemons of cells. Any thread may call; nothing is connected before first use."""

    def beat(self, cell_uuid: str) -> None:
        """Say that this daemon lives, in this cell; to be called again and again.

        This comes on top of the heartbeats that go to the cell-conductor.

        :raises roost.exception.Unavailable: when nobody could be told
        """

    def find_up(
        self, services: Sequence[Service], *, cell_uuid: str, now: datetime.datetime
    ) -> set[str]:
        """Return the uuids of those services of a cell that are up, in a bounded time.

        One that was forced down is not, whatever it says.

        :param now: the time by the clock that stamps the heartbeats of these services
        """

    def disband(self, cell_uuid: str) -> None:
        """Leave nothing of the group of a cell that is gone; one in which somebody lives stays.

        :raises roost.exception.Unavailable: when the backend cannot be reached
        """

    def close(self) -> None:
        """Take this daemon out of its groups: it ends."""


GROUP = "roost.servicegroup"


def load_group(conf: cfg.ConfigOpts, *, binary: str) -> ServiceGroup:
    """Make the configured service group, for one daemon.

    :param binary: the daemon's program, by which others know it together with its host
    :raises roost.exception.Invalid: when no entry point has that name, or its options cannot work
    """
    plugin = plugins.find(GROUP, conf.servicegroup.driver, option="[servicegroup] driver")
    group: ServiceGroup = plugin.from_conf(conf, binary=binary)
    return group


class ListeningTime:
    """Notes again and again whether we could hear, and tells since when without a break.

    What interrupts it: that nothing could be heard, or that nobody noted anything for too long, as
    when the process was stopped or its clock was set. Any thread may note and ask. All times are
    seconds by one clock, which may be any.

    :param gap: seconds without a note after which nobody knows what was missed
    """

    def __init__(self, *, gap: float) -> None:
        self._gap = gap
        self._lock = threading.Lock()
        self._since: float | None = None
        self._noted_at: float | None = None

    def note(self, now: float, *, hears: bool) -> None:
        """Note whether we hear now."""
        with self._lock:
            if not hears:
                self._since = None
            elif self._since is None or self._is_broken(now):
                self._since = now
            self._noted_at = now

    def seconds(self, now: float) -> float:
        """Return for how long we have been able to hear by now; 0: we are not, or not yet."""
        with self._lock:
            if self._since is None or self._is_broken(now):
                return 0.0
            return max(0.0, now - self._since)

    def _is_broken(self, now: float) -> bool:
        return self._noted_at is None or abs(now - self._noted_at) > self._gap
