"""What breaks when: drawn from a seed, so that the same seed breaks the same things again.

Nothing here does anything; :mod:`roost.rig.chaos.faults` does.
"""

import dataclasses
import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Self

from roost import exception
from roost.compute.virt.fake.faults import KINDS as DRIVER_KINDS
from roost.rig.plan import Plan

KILL: Final = "kill"
STOP: Final = "stop"
BROKER_RESTART: Final = "broker-restart"
BROKER_WIPE: Final = "broker-wipe"
DATABASE_RESTART: Final = "database-restart"
CUT: Final = "cut"
FILL: Final = "fill"
DRIVER: Final = "driver"
EVACUATE: Final = "evacuate"

# How often each kind comes, compared with the others.
WEIGHTS: Final[Mapping[str, int]] = {
    KILL: 8,
    STOP: 3,
    BROKER_RESTART: 2,
    BROKER_WIPE: 1,
    DATABASE_RESTART: 2,
    CUT: 4,
    FILL: 1,
    DRIVER: 3,
    EVACUATE: 2,
}
KINDS: Final = tuple(WEIGHTS)
STOPPED_SECONDS: Final = 30.0
_SERVICES: Final[Mapping[str, str]] = {
    BROKER_RESTART: "broker",
    BROKER_WIPE: "broker",
    DATABASE_RESTART: "database",
}
# Seconds that a fault lasts: from, to.
_LASTING: Final[Mapping[str, tuple[float, float]]] = {
    KILL: (1, 20),
    STOP: (STOPPED_SECONDS, STOPPED_SECONDS),
    BROKER_RESTART: (0, 10),
    BROKER_WIPE: (0, 5),
    DATABASE_RESTART: (0, 8),
    CUT: (3, 40),
    FILL: (20, 60),
    DRIVER: (20, 60),
    EVACUATE: (10, 45),
}
_WAYS: Final[Mapping[str, Sequence[str]]] = {
    BROKER_RESTART: ("killed", "ended"),
    DATABASE_RESTART: ("killed", "ended"),
    CUT: ("refused", "silent"),
    DRIVER: (*DRIVER_KINDS, "slow"),
}
_DRIVER_STEPS: Final = ("network", "image", "prepare", "spawn", "announce", "destroy")
_LONG_DEAD: Final = 0.2  # of the killed daemons stay dead until others count them as down
_LONG_SECONDS: Final = 40.0
_TRIES: Final = 20  # to find something that is not broken already


@dataclasses.dataclass(frozen=True)
class FaultTargets:
    """What there is to break."""

    daemons: Sequence[str]
    hosts: Sequence[str]
    ways: Sequence[str]

    @classmethod
    def of(cls, plan: Plan) -> Self:
        return cls([daemon.name for daemon in plan.daemons], plan.all_hosts, plan.ways)

    def targets(self, kind: str) -> Sequence[str]:
        if kind in _SERVICES:
            return [_SERVICES[kind]]
        if kind in (KILL, STOP):
            return self.daemons
        return self.ways if kind == CUT else self.hosts


@dataclasses.dataclass(frozen=True)
class Fault:
    """One thing that breaks: when (seconds since the storm began), for how long, what and how.

    ``rule`` is what the fake hypervisors are told, for faults of drivers.
    """

    number: int
    at: float
    lasts: float
    kind: str
    target: str
    way: str = ""
    rule: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def until(self) -> float:
        return self.at + self.lasts

    @property
    def thing(self) -> tuple[str, str]:
        """What it takes for itself: a process can be killed or stopped, not both at once."""
        family = (
            "process"
            if self.kind in (KILL, STOP, EVACUATE)
            else _SERVICES.get(self.kind, self.kind)
        )
        return family, self.target

    def __str__(self) -> str:
        words = [self.kind, self.target, self.way, str(self.rule.get("step", ""))]
        return " ".join(word for word in words if word)


def draw(
    seed: int,
    shape: FaultTargets,
    *,
    minutes: float,
    per_minute: float,
    kinds: Collection[str] = KINDS,
) -> list[Fault]:
    """Return the faults of a storm, in order of their time.

    They come evenly but not regularly. Several may be in force at once, but never two on the same
    thing.

    :raises roost.exception.Invalid: for kinds that there are not
    """
    _check(kinds)
    chance = random.Random(f"faults {seed}")  # noqa: S311 - to be repeated, not to be secret
    wanted = [kind for kind in KINDS if kind in kinds]
    drawn: list[Fault] = []
    for number in range(1, int(minutes * per_minute) + 1):
        at = (number - 1 + chance.random()) * 60 / per_minute
        found = _draw_one(chance, shape, wanted, number=number, at=at, before=drawn)
        if found is not None:
            drawn.append(found)
    return drawn


def choose(only: Collection[str], without: Collection[str]) -> list[str]:
    """Return the kinds of fault that are asked for.

    :raises roost.exception.Invalid: for kinds that there are not, or when none is left
    """
    _check([*only, *without])
    chosen = [kind for kind in KINDS if (not only or kind in only) and kind not in without]
    if not chosen:
        raise exception.Invalid("no kind of fault is left")
    return chosen


def _draw_one(
    chance: random.Random,
    shape: FaultTargets,
    kinds: Sequence[str],
    *,
    number: int,
    at: float,
    before: Sequence[Fault],
) -> Fault | None:
    """Return a fault of something that is whole at that time, None when hardly anything is."""
    for _ in range(_TRIES):
        kind = chance.choices(kinds, [WEIGHTS[each] for each in kinds])[0]
        target = chance.choice(shape.targets(kind))
        way = chance.choice(_WAYS.get(kind, ("",)))
        fault = Fault(
            number, at, _lasting(chance, kind), kind, target, way, _rule(chance, kind, target, way)
        )
        if not any(other.thing == fault.thing and other.until + 1 > at for other in before):
            return fault
    return None


def _lasting(chance: random.Random, kind: str) -> float:
    if kind == KILL and chance.random() < _LONG_DEAD:
        return _LONG_SECONDS
    return round(chance.uniform(*_LASTING[kind]), 1)


def _rule(chance: random.Random, kind: str, target: str, way: str) -> dict[str, Any]:
    """Return a rule as :mod:`roost.compute.virt.fake.faults` reads it."""
    step, rate = chance.choice(_DRIVER_STEPS), round(chance.uniform(0.3, 1), 2)
    if kind != DRIVER:
        return {}
    rule: dict[str, Any] = {"step": step, "host": target, "rate": rate}
    if way == "slow":
        return {**rule, "delay": round(chance.uniform(1, 8), 1)}
    return {**rule, "kind": way, "message": "broken on purpose"}


def _check(kinds: Collection[str]) -> None:
    unknown = sorted({*kinds} - {*KINDS})
    if unknown:
        raise exception.Invalid(
            f"there is no fault {', '.join(unknown)}; there are {', '.join(KINDS)}"
        )
