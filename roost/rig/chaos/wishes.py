"""Which servers a storm asks for, and what becomes of each: drawn from a seed."""

import dataclasses
import random
from collections.abc import Mapping
from typing import Final, TypeVar

T = TypeVar("T")

STAY: Final = "stay"
AT_ONCE: Final = "at once"
BUILDING: Final = "while building"
ACTIVE: Final = "when active"
# How often each comes, compared with the others; and after how many seconds it is deleted, from the
# answer to its request (when active: from being so).
_FATES: Final = {STAY: 35, AT_ONCE: 15, BUILDING: 25, ACTIVE: 25}
_AFTER: Final = {STAY: (0.0, 0.0), AT_ONCE: (0.0, 0.0), BUILDING: (0.2, 4.0), ACTIVE: (0.0, 20.0)}
_SIZES: Final = {1: 70, 2: 12, 3: 10, 5: 8}
# What is done to a server that stays, one after the other; afterwards it is ACTIVE again.
_LIVES: Final = {
    (): 30,
    ("reboot",): 10,
    ("rebuild",): 10,
    ("os-stop", "os-start"): 10,
    ("migrate", "confirmResize"): 7,
    ("migrate", "revertResize"): 5,
    ("resize", "confirmResize"): 7,
    ("resize", "revertResize"): 6,
    ("pause", "unpause"): 8,
    ("suspend", "resume"): 7,
    ("os-migrateLive",): 10,
    ("shelve", "unshelve"): 8,
    ("os-migrateLive", "os-migrateLive"): 5,
}
_POLICIES: Final = {"": 80, "anti-affinity": 10, "soft-anti-affinity": 5, "affinity": 5}


@dataclasses.dataclass(frozen=True)
class StormRequest:
    """One request: when (seconds since the storm began), how many servers, and their end.

    :param policy: that of a group made for them; empty: none
    :param fate: when they are deleted, if they are
    :param after: seconds from then
    :param life: actions on those that stay, once they are ACTIVE
    """

    at: float
    name: str
    count: int
    policy: str
    fate: str
    after: float
    life: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """What its servers are called, as the API names those of one request."""
        if self.count == 1:
            return [self.name]
        return [f"{self.name}-{number}" for number in range(1, self.count + 1)]


def draw(seed: int, *, minutes: float, per_minute: float) -> list[StormRequest]:
    """Return the requests of a storm, in order: ``per_minute`` servers on average."""
    chance = random.Random(f"wishes {seed}")  # noqa: S311 - to be repeated, not to be secret
    mean = sum(size * weight for size, weight in _SIZES.items()) / sum(_SIZES.values())
    rate = per_minute / 60 / mean
    wishes: list[StormRequest] = []
    at = chance.expovariate(rate)
    while at < minutes * 60:
        wishes.append(_draw_one(chance, at, f"storm-{len(wishes) + 1:05}"))
        at += chance.expovariate(rate)
    return wishes


def _draw_one(chance: random.Random, at: float, name: str) -> StormRequest:
    fate = _pick(chance, _FATES)
    after = round(chance.uniform(*_AFTER[fate]), 2)
    size, policy = _pick(chance, _SIZES), _pick(chance, _POLICIES)
    life = _pick(chance, _LIVES) if fate == STAY else ()
    return StormRequest(at, name, size, policy, fate, after, life)


def _pick(chance: random.Random, weights: Mapping[T, int]) -> T:
    return chance.choices([*weights], [*weights.values()])[0]
