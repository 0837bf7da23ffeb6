"""Interface of service groups, which ``roost.servicegroup`` plug-ins implement.

A plug-in is a class with ``from_conf(conf, *, binary)``, named by an entry point of that group;
``load_group`` creates the one that ``[servicegroup] driver`` names. The daemons of a cell report
that they are alive; cell-conductors and the API level ask which ones are. ``ListeningTime`` is how
long this process could receive such reports: a process that could not must report no host down.
"""

import datetime
import threading
from collections.abc import Sequence
from typing import Protocol

from oslo_config import cfg

from roost import plugins
from roost.objects import Service


class ServiceGroup(Protocol):
    """The daemons of cells that are alive. Thread-safe; it connects at its first use."""

    def beat(self, cell_uuid: str) -> None:
        """Report that this daemon of this cell is alive; call it periodically.

        Heartbeats to the cell-conductor are sent in addition.

        :raises roost.exception.Unavailable: when the backend cannot be reached
        """

    def find_up(
        self, services: Sequence[Service], *, cell_uuid: str, now: datetime.datetime
    ) -> set[str]:
        """Return the uuids of those services of a cell that are up, in a bounded time.

        A service that was forced down is not up, whatever it reports.

        :param now: the time by the clock that stamps the heartbeats of these services
        """

    def disband(self, cell_uuid: str) -> None:
        """Delete the group of a cell that was removed, unless the group has members.

        :raises roost.exception.Unavailable: when the backend cannot be reached
        """

    def close(self) -> None:
        """Remove this daemon from its groups, because it stops."""


GROUP = "roost.servicegroup"


def load_group(conf: cfg.ConfigOpts, *, binary: str) -> ServiceGroup:
    """Create the configured service group, for one daemon.

    :param binary: the daemon's program, which identifies it together with its host
    :raises roost.exception.Invalid: when no entry point has that name, or its options are invalid
    """
    plugin = plugins.find(GROUP, conf.servicegroup.driver, option="[servicegroup] driver")
    group: ServiceGroup = plugin.from_conf(conf, binary=binary)
    return group


class ListeningTime:
    """Measures for how long this process has been able to receive reports without a break.

    A break is a note that nothing could be received, or a time without notes, as when the process
    was stopped or its clock was set. Thread-safe. All times are seconds by one clock, which may be
    any.

    :param gap: seconds without a note that count as a break
    """

    def __init__(self, *, gap: float) -> None:
        self._gap = gap
        self._lock = threading.Lock()
        self._since: float | None = None
        self._noted_at: float | None = None

    def note(self, now: float, *, connected: bool) -> None:
        """Note whether reports can be received now."""
        with self._lock:
            if not connected:
                self._since = None
            elif self._since is None or self._is_broken(now):
                self._since = now
            self._noted_at = now

    def seconds(self, now: float) -> float:
        """Return for how long reports could be received without a break; 0: they cannot now."""
        with self._lock:
            if self._since is None or self._is_broken(now):
                return 0.0
            return max(0.0, now - self._since)

    def _is_broken(self, now: float) -> bool:
        return self._noted_at is None or abs(now - self._noted_at) > self._gap
