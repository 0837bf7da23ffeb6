"""How rough it is: what may happen to messages, transactions, guests and daemons, by seed.

Whatever does something that can go wrong comes by here first. A world without a sea is calm.
"""

import collections
import dataclasses
import random
from typing import Protocol

from tests.simulation.loop import Killed


class Mortal(Protocol):
    name: str

    def crash(self) -> None: ...


class Calm:
    """Nothing goes wrong; what happens is counted. The base of everything worse."""

    def __init__(self) -> None:
        self.totals: collections.Counter[str] = collections.Counter()

    def delays(self, what: str) -> list[float]:
        """Return after how many seconds each copy of a message arrives."""
        return [0.005]

    def refuses(self, what: str) -> bool:
        """Tell whether the bus says that it did not take a message (which it may have)."""
        return False

    def pause(self) -> float:
        """Return how long a daemon waits for its next transaction."""
        return 0.0005

    def point(self, process: Mortal, what: str) -> None:
        """A daemon is about to do something, or has just done it, that others can see."""

    def loses(self, what: str) -> bool:
        """Tell whether a connection to a database breaks now."""
        return False

    def guest_fails(self, step: str) -> str | None:
        """Return how a step on a host fails."""
        return None

    def guest_takes(self) -> float:
        """Return how many seconds a step on a host takes."""
        return 0.05


@dataclasses.dataclass(frozen=True)
class Weather:
    """How likely each thing is, from 0 to 1."""

    lost: float = 0.05
    doubled: float = 0.05
    late: float = 0.08
    refused: float = 0.02
    crash: float = 0.004
    broken: float = 0.003
    failing: float = 0.06
    slow: float = 0.05
    crashes: int = 6  # at most


class Storm(Calm):
    """All at once, until it calms down."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = random.Random(f"{seed} sea")
        rough = self.random.choice((0.3, 1.0, 1.0, 2.0))
        self.weather = Weather(
            **{
                name: value * rough * self.random.choice((0, 1, 1, 1, 2))
                for name, value in dataclasses.asdict(Weather()).items()
                if name != "crashes"
            }
        )
        self.raging = True

    def delays(self, what: str) -> list[float]:
        copies = 1
        if self._happens(self.weather.lost, "messages lost"):
            copies = 0
        elif self._happens(self.weather.doubled, "messages doubled"):
            copies = 2
        return [self._delay() for _ in range(copies)]

    def refuses(self, what: str) -> bool:
        return self._happens(self.weather.refused, "messages refused")

    def pause(self) -> float:
        return self.random.expovariate(1000)

    def point(self, process: Mortal, what: str) -> None:
        if self.totals["crashes"] < self.weather.crashes and self._happens(
            self.weather.crash, "crashes"
        ):
            process.crash()
            raise Killed

    def loses(self, what: str) -> bool:
        return self._happens(self.weather.broken, what)

    def guest_fails(self, step: str) -> str | None:
        if self._happens(self.weather.failing, "host failures"):
            return self.random.choice(("reschedulable", "reschedulable", "final", "crash"))
        return None

    def guest_takes(self) -> float:
        if self._happens(self.weather.slow, "slow hosts"):
            return self.random.uniform(1, 25)
        return self.random.uniform(0.01, 0.5)

    def _delay(self) -> float:
        if self._happens(self.weather.late, "messages late"):
            return self.random.choice((self.random.uniform(0, 3), self.random.uniform(0, 25)))
        return self.random.expovariate(200)

    def _happens(self, chance: float, what: str) -> bool:
        if not self.raging or self.random.random() >= chance:
            return False
        self.totals[what] += 1
        return True
