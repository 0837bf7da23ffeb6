"""Looks after the daemons of a chaos run as an init system would, and measures their memory."""

import collections
import dataclasses
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

from roost import exception
from roost.rig.chaos import schedule
from roost.rig.chaos.breaker import Made
from roost.rig.plan import Plan
from roost.rig.processes import Supervisor, usage

LOOK_SECONDS: Final = 2.0
MEASURE_SECONDS: Final = 10.0
_LAST_LINES: Final = 8


@dataclasses.dataclass(frozen=True)
class Sample:
    """How much memory a process had: bytes, at a time of ``time.monotonic``."""

    pid: int
    at: float
    memory: int


@dataclasses.dataclass(frozen=True)
class Death:
    """A daemon that ended though nobody ended it, and what it logged last."""

    name: str
    at: float
    last_lines: str


class Keeper:
    """Starts daemons again that ended by themselves, and notes that they did.

    :param made: tells the faults made so far: what they killed is theirs to start
    """

    def __init__(
        self, plan: Plan, supervisor: Supervisor, *, made: Callable[[], Iterable[Made]]
    ) -> None:
        self._plan = plan
        self._supervisor = supervisor
        self._made = made
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._measured = 0.0
        self.deaths: list[Death] = []
        self.samples: dict[str, list[Sample]] = collections.defaultdict(list)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def look(self) -> None:
        """See which daemons run; start those that should."""
        now = time.monotonic()
        measure = now - self._measured > MEASURE_SECONDS
        self._measured = now if measure else self._measured
        for process in self._supervisor.list_processes():
            if not process.running:
                self._see_dead(process.name, now)
            elif measure:
                _seconds, memory = usage(process.pid)
                self.samples[process.name].append(Sample(process.pid, now, memory))

    def _see_dead(self, name: str, now: float) -> None:
        """Note a daemon that is dead, unless a fault killed it and will start it."""
        if any(_killed(made, name, now) for made in self._made()):
            return
        log = self._plan.log_file(name)
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        self.deaths.append(Death(name, now, "\n".join(lines[-_LAST_LINES:])))
        self._supervisor.start_process(name)

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            try:
                self.look()
            except exception.RoostError:  # it is being ended, or is too busy to answer
                continue


def _killed(made: Made, name: str, now: float) -> bool:
    """Tell whether a fault has killed this daemon, and has not had the time to start it again."""
    if made.fault.kind not in (schedule.KILL, schedule.EVACUATE) or made.fault.target != name:
        return False
    return made.healed is None or made.healed > now - LOOK_SECONDS
