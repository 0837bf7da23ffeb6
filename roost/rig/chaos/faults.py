"""How each kind of fault is made and healed, on a ground that is real in a run and fake in tests.

Healing may be repeated, and heals what was made half-way, too.
"""

import dataclasses
import signal as signals
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from roost.rig.chaos import schedule
from roost.rig.chaos.schedule import Fault


class Daemons(Protocol):
    """The rig's processes."""

    def signal(self, name: str, signal: str) -> int: ...

    def start_process(self, name: str) -> None: ...


class ServerProcess(Protocol):
    """A broker or a database server that is ours."""

    def halt(self, signal: signals.Signals | None = None) -> None: ...

    def revive(self) -> None: ...


class Broker(ServerProcess, Protocol):
    def forget(self) -> None:
        """Remove all that a halted one keeps."""


class Way(Protocol):
    """The way to a bus or database, as :class:`roost.rig.forwarder.Forwarder` is one."""

    def open(self) -> None: ...

    def close(self) -> None: ...

    def silence(self) -> None: ...

    def resume(self) -> None: ...


class Ballast(Protocol):
    """Servers that leave no room on a host."""

    def fill(self, host: str) -> None: ...

    def empty(self, host: str) -> None: ...


class Evacuations(Protocol):
    """Of hosts that are dead, all servers."""

    def begin(self, host: str) -> None: ...

    def end(self, host: str) -> None: ...


class Drivers(Protocol):
    """What the fake hypervisors are told to fail at."""

    def add(self, number: int, rule: Mapping[str, Any]) -> None: ...

    def remove(self, number: int) -> None: ...


@dataclasses.dataclass(frozen=True)
class Ground:
    """What can be broken. ``lay_buses`` makes virtual hosts and users on an empty broker."""

    daemons: Daemons
    broker: Broker
    lay_buses: Callable[[], None]
    database: ServerProcess
    ways: Mapping[str, Way]
    ballast: Ballast
    drivers: Drivers
    evacuations: Evacuations


def make(ground: Ground, fault: Fault) -> None:
    """Break something.

    :raises roost.exception.RoostError: when it cannot be broken
    """
    _MAKE[fault.kind](ground, fault)


def heal(ground: Ground, fault: Fault) -> None:
    """Make it whole again.

    :raises roost.exception.RoostError: when it cannot be
    """
    _HEAL[fault.kind](ground, fault)


def _wipe_broker(ground: Ground, _fault: Fault) -> None:
    ground.broker.halt(signals.SIGKILL)
    ground.broker.forget()


def _lay_broker(ground: Ground, _fault: Fault) -> None:
    ground.broker.revive()
    ground.lay_buses()


def _cut(ground: Ground, fault: Fault) -> None:
    way = ground.ways[fault.target]
    if fault.way == "silent":
        way.silence()
    else:
        way.close()


def _join(ground: Ground, fault: Fault) -> None:
    way = ground.ways[fault.target]
    way.resume()
    way.open()


def _evacuate(ground: Ground, fault: Fault) -> None:
    ground.daemons.signal(fault.target, "KILL")
    ground.evacuations.begin(fault.target)


def _return(ground: Ground, fault: Fault) -> None:
    """Have the host be up again: it asks by itself what is still its own.

    One that is forced down would not serve.
    """
    ground.evacuations.end(fault.target)
    ground.daemons.start_process(fault.target)


def _signal(fault: Fault) -> signals.Signals | None:
    """Return how a server ends: as a crash would, or in its own gentle way (None)."""
    return signals.SIGKILL if fault.way == "killed" else None


Act = Callable[[Ground, Fault], object]
_MAKE: Final[Mapping[str, Act]] = {
    schedule.KILL: lambda ground, fault: ground.daemons.signal(fault.target, "KILL"),
    schedule.STOP: lambda ground, fault: ground.daemons.signal(fault.target, "STOP"),
    schedule.BROKER_RESTART: lambda ground, fault: ground.broker.halt(_signal(fault)),
    schedule.BROKER_WIPE: _wipe_broker,
    schedule.DATABASE_RESTART: lambda ground, fault: ground.database.halt(_signal(fault)),
    schedule.CUT: _cut,
    schedule.FILL: lambda ground, fault: ground.ballast.fill(fault.target),
    schedule.DRIVER: lambda ground, fault: ground.drivers.add(fault.number, fault.rule),
    schedule.EVACUATE: _evacuate,
}
_HEAL: Final[Mapping[str, Act]] = {
    schedule.KILL: lambda ground, fault: ground.daemons.start_process(fault.target),
    schedule.STOP: lambda ground, fault: ground.daemons.signal(fault.target, "CONT"),
    schedule.BROKER_RESTART: lambda ground, _fault: ground.broker.revive(),
    schedule.BROKER_WIPE: _lay_broker,
    schedule.DATABASE_RESTART: lambda ground, _fault: ground.database.revive(),
    schedule.CUT: _join,
    schedule.FILL: lambda ground, fault: ground.ballast.empty(fault.target),
    schedule.DRIVER: lambda ground, fault: ground.drivers.remove(fault.number),
    schedule.EVACUATE: _return,
}
