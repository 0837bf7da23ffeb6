"""A whole chaos run: a rig is made, broken under a storm, healed, looked at, and ended.

``gather`` leaves what the logs say of each thing that should not be: a file each, by time.
"""

import contextlib
import dataclasses
import json
import logging
import pathlib
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import FrameType
from typing import Any

from roost import exception
from roost.rig import lifecycle
from roost.rig.chaos import recovery, schedule, verdict, wishes
from roost.rig.chaos.arena import Arena, Size
from roost.rig.chaos.breaker import FaultInjector, Made
from roost.rig.chaos.inspection import Inspection, Inspector
from roost.rig.chaos.keeper import Keeper
from roost.rig.chaos.report import ChaosOutcome, as_json
from roost.rig.chaos.storm import Storm
from roost.rig.chaos.verdict import Item, Observations
from roost.rig.chaos.watch import StormServer
from roost.rig.plan import Plan

MOST = 50  # files
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d+")


def gather(
    logs: pathlib.Path, folder: pathlib.Path, items: Iterable[Item], servers: Sequence[StormServer]
) -> None:
    """Write all log lines about each thing into ``folder``.

    :param logs: the folder of the daemons' logs
    """
    ids = {server.name: server.ids for server in servers}
    subjects = dict.fromkeys(item.subject for item in items)
    for subject in list(subjects)[:MOST]:
        words = [subject, *ids.get(subject, [])]
        lines = sorted(_lines(logs, words))
        if lines:
            folder.mkdir(exist_ok=True)
            name = re.sub(r"[^\w.-]", "_", subject)
            (folder / f"{name}.log").write_text("".join(line for _time, line in lines))


def _lines(logs: pathlib.Path, words: Sequence[str]) -> Iterable[tuple[str, str]]:
    for log in sorted(logs.glob("*.log")):
        with log.open(errors="replace") as lines:
            for line in lines:
                if any(word in line for word in words):
                    found = _TIME.search(line)
                    yield found.group() if found else "", f"{log.stem:<20} {line}"


LOG = "chaos.log"
REPORT = "report.json"
TICK = 1.0  # seconds between two looks at the clock


@dataclasses.dataclass(frozen=True)
class ChaosOptions:
    """What to do, and for how long.

    :param boots_per_minute: servers asked for, on average
    :param patience: seconds after the last healing in which everything must be right
    :param command: what repeats the run
    """

    seed: int
    minutes: float
    boots_per_minute: float
    faults_per_minute: float
    kinds: Collection[str]
    size: Size
    patience: float
    command: str

    def faults(self, shape: schedule.FaultTargets) -> list[schedule.Fault]:
        """Draw what breaks."""
        return schedule.draw(
            self.seed,
            shape,
            minutes=self.minutes,
            per_minute=self.faults_per_minute,
            kinds=self.kinds,
        )

    def wishes(self) -> list[wishes.StormRequest]:
        """Draw what is asked for."""
        return wishes.draw(self.seed, minutes=self.minutes, per_minute=self.boots_per_minute)


class Screen:
    """What a run tells while it goes on.

    :param tell: prints a line that stays
    :param say: shows what is being done now
    """

    def __init__(self, *, tell: Callable[[str], object], say: Callable[[str], object]) -> None:
        self.tell = tell
        self.say = say


class ChaosRun:
    """One run on one arena, which is up."""

    def __init__(self, options: ChaosOptions, arena: Arena, screen: Screen) -> None:
        self._options = options
        self._arena = arena
        self._screen = screen
        self._began = time.monotonic()
        faults = options.faults(schedule.FaultTargets.of(arena.plan))
        self._breaker = FaultInjector(arena.ground(), faults, tell=self._tell_fault)
        self._storm = Storm(
            arena.client, options.wishes(), arena.prototype(), larger=arena.larger_flavor()
        )
        self._keeper = Keeper(arena.plan, arena.supervisor, made=lambda: list(self._breaker.made))
        self._inspector = Inspector(arena, self._storm, patience=options.patience, say=screen.say)

    def __call__(self) -> ChaosOutcome:
        """Break, heal, look; return how it went. Everything is whole then, and still runs."""
        before = self._inspector.rows()
        try:
            self._rage()
            seen = self._inspector.wait_and_look()
            asked = [dataclasses.replace(server) for server in self._storm.register.all()]
            left = self._inspector.delete_all_and_look()
        finally:
            self._breaker.heal_all()
            self._keeper.close()
            self._storm.close()
        after = self._inspector.rows()
        rows = {name: (count, after.get(name, 0)) for name, count in before.items()}
        return self._outcome(seen, asked, left, rows)

    def _rage(self) -> None:
        """Storm and break for as long as was asked, then heal everything."""
        self._began = time.monotonic()
        self._keeper.start()
        self._storm.start()
        self._breaker.start()
        until = self._began + self._options.minutes * 60
        while time.monotonic() < until:
            time.sleep(min(TICK, max(0.0, until - time.monotonic())))
            self._screen.say(self._state())
        self._screen.say("the storm is over, healing")
        self._storm.end()
        self._breaker.heal_all()

    def _state(self) -> str:
        servers = self._storm.register.all()
        left = self._options.minutes * 60 - (time.monotonic() - self._began)
        states = [
            f"{sum(server.accepted for server in servers)} accepted",
            f"{sum(s.state == 'ACTIVE' and s.gone is None for s in servers)} ACTIVE",
            f"{sum(server.under_way for server in servers)} under way",
            f"{sum(server.gone is not None for server in servers)} gone",
        ]
        broken = ", ".join(str(made.fault) for made in self._breaker.in_force()) or "nothing"
        return f"{max(0, left):.0f} s left: {', '.join(states)}; broken: {broken}"

    def _tell_fault(self, made: Made) -> None:
        at = (made.healed or made.began) - self._began
        what = "breaks" if made.healed is None else "healed"
        why = f" [red]{made.failed}[/]" if made.failed else ""
        self._screen.tell(f"[dim]{at:6.1f} s[/]  {what}  {made.fault}{why}")

    def _outcome(
        self, seen: Inspection, asked: list[Any], left: list[str], rows: dict[str, tuple[int, int]]
    ) -> ChaosOutcome:
        items = verdict.judge(
            Observations(
                servers=asked,
                listed=seen.listed,
                guests=seen.guests,
                findings=seen.report.findings,
                unchecked=seen.report.unchecked,
                queued=seen.queued,
                silent=seen.silent,
                failures=self._storm.answers.failures,
                faults=self._breaker.made,
                deaths=self._keeper.deaths,
                left=left,
            )
        )
        return ChaosOutcome(
            command=self._options.command,
            seed=self._options.seed,
            faults=self._breaker.made,
            servers=asked,
            answers=self._storm.answers,
            recovery=recovery.measure(asked, self._breaker.made),
            quiet=seen.seconds,
            items=items,
            memory=self._keeper.samples,
            rows=rows,
        )


def run(options: ChaosOptions, state: pathlib.Path, screen: Screen, *, keep: bool) -> ChaosOutcome:
    """Make a rig, break it, judge it, end it.

    When an invariant was broken the rig's folder stays until the next run there, with all logs,
    what they say of each thing that should not be, and the report.

    :param keep: leave the rig running until this process is interrupted
    :raises roost.exception.RoostError: when the rig does not come up; nothing runs then
    """
    _make_room(state)
    with _ended_by_signals():
        arena = Arena(state, options.size)
        try:
            _log_into(arena.plan.state / LOG)
            arena.up(screen.say)
            outcome = ChaosRun(options, arena, screen)()
            if keep:
                _hold(arena, screen)
        except BaseException:
            _leave(arena, state)
            raise
        arena.down()
    if outcome.held:
        arena.forget()
    else:
        _keep(arena.plan, outcome)
    return outcome


def _keep(plan: Plan, outcome: ChaosOutcome) -> None:
    """Leave what tells of a run that broke an invariant, and no rig."""
    logs = plan.log_file("x").parent
    gather(logs, plan.state / "evidence", outcome.items, outcome.servers)
    (plan.state / REPORT).write_text(json.dumps(as_json(outcome), indent=2) + "\n")
    (plan.state / "rig.json").unlink()


def _make_room(state: pathlib.Path) -> None:
    """Remove what an earlier run left.

    :raises roost.exception.Conflict: when a rig lives there
    """
    lifecycle.check_vacant(state)
    if (state / LOG).exists():
        shutil.rmtree(state)


def _leave(arena: Arena, state: pathlib.Path) -> None:
    """End what runs, whatever stands in the way; the folder stays, if there is something in it."""
    with contextlib.suppress(exception.RoostError, OSError):
        arena.down()
    (state / "rig.json").unlink(missing_ok=True)


def _log_into(file: pathlib.Path) -> None:
    """Keep what libraries complain of out of the way of the report."""
    file.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=file, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )


def _hold(arena: Arena, screen: Screen) -> None:
    screen.tell(f"the rig serves {arena.plan.endpoint} until you interrupt this")
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that nothing is left running."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
