"""Liveness of hosts and cells: a report is missing only while this process could receive it."""

import dataclasses
import math
from typing import Final, Protocol, Self

_LEAST_GAP: Final = 3.0  # seconds: a machine that is busy for a moment still receives


@dataclasses.dataclass(frozen=True, kw_only=True)
class LivenessTimeouts:
    """Seconds without a report after which a host, or a cell that has once reported, is down."""

    host: float = 120.0
    cell: float = 60.0

    @classmethod
    def of(cls, *, down_time: float) -> Self:
        """Return the timeouts of a deployment with this ``down_time`` of daemons."""
        return cls(host=4 * down_time, cell=2 * down_time)

    @property
    def gap(self) -> float:
        """Seconds for which this process may receive nothing without a break of its window."""
        return max(min(self.host, self.cell) / 3, _LEAST_GAP)


class ReceiveWindow(Protocol):
    """For how long this process has received: :class:`roost.servicegroup.driver.ListeningTime`."""

    def seconds(self, now: float) -> float: ...


class AlwaysReceiving:
    """Has always received, without a break."""

    def seconds(self, now: float) -> float:
        return math.inf


class ReceiveHorizon:
    """The horizon: a host or cell is up if its last report is not older.

    While this process receives, the horizon follows the time at a distance. It stops while it
    cannot receive, and until it has received again for that long: meanwhile hosts and cells stay up
    or down. Until the process has received for that long the first time, all are up.

    :param distance: seconds without a report after which a host or cell is down
    """

    def __init__(self, distance: float, hearing: ReceiveWindow) -> None:
        self._distance = distance
        self._hearing = hearing
        self._at = -math.inf

    def at(self, now: float) -> float:
        """Return the horizon; all times are seconds since the epoch, by the database's clock."""
        if self._hearing.seconds(now) >= self._distance:
            self._at = now - self._distance
        return self._at
