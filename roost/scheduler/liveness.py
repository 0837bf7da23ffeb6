"""When hosts and cells count as down: a report is missing only while reports could be received."""

import dataclasses
import math
from typing import Final, Protocol, Self

_LEAST_GAP: Final = 3.0  # seconds: a machine that is busy for a moment is not deaf


@dataclasses.dataclass(frozen=True, kw_only=True)
class LivenessTimeouts:
    """Seconds of silence after which a host, and a cell that has once reported, is down."""

    host: float = 120.0
    cell: float = 60.0

    @classmethod
    def of(cls, *, down_time: float) -> Self:
        """Return those of a deployment whose daemons count as down after ``down_time``."""
        return cls(host=4 * down_time, cell=2 * down_time)

    @property
    def gap(self) -> float:
        """Seconds in which we may hear nothing at all and still miss nothing that matters."""
        return max(min(self.host, self.cell) / 3, _LEAST_GAP)


class ReceiveWindow(Protocol):
    """What is asked of :class:`roost.servicegroup.driver.ListeningTime`."""

    def seconds(self, now: float) -> float: ...


class AlwaysReceiving:
    """Has listened from the beginning, without a break."""

    def seconds(self, now: float) -> float:
        return math.inf


class ReceiveHorizon:
    """Since when one must have been heard of to be up.

    While we listen it follows the time at a distance. It stops while we cannot hear, and until we
    have listened again for that long: so whoever was up then stays up, whoever was down stays down.
    Before we have listened for that long the first time, nobody is down.

    :param distance: seconds of silence after which one is down
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
