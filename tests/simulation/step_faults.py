"""What can happen to a step of a flow (``roost.flow``) or an operation, and how to do it once."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from roost.compute.operations import build, rebuild
from roost.compute.operations import runner as hosts
from roost.compute.operations.build import Build
from roost.conductor.cell.operations.builds import Builds
from roost.conductor.super import boot
from roost.flow import Flow
from roost.operations.kinds import KINDS
from tests.simulation.loop import Killed, current

MISHAPS = (
    "fails before",
    "fails after",
    "runs twice",
    "is undone twice",
    "dies before",
    "dies after",
)
GONE = "is gone for good"
WELL = "goes well"
FLOWS: dict[str, Flow[Any]] = {
    "place": boot.PLACE,
    "place together": boot.PLACE_TOGETHER,
    "record": boot.RECORD,
    "adopt": boot.ADOPT,
    "build": build.build_flow(),
    "rebuild": rebuild.REBUILD,
}


class Accident(RuntimeError):
    """What nobody foresaw."""


class Runner:
    """Runs the steps of one flow, and lets a mishap happen to one of them, the first time.

    :param meanwhile: happens then, too, before the mishap
    """

    def __init__(
        self, step: str, mishap: str, meanwhile: Callable[[], object] = lambda: None
    ) -> None:
        self.step, self.mishap, self._meanwhile = step, mishap, meanwhile
        self.happened = self._begun = False
        self._undos: set[str] = set()

    def __call__(self, do: Callable[[Any], None], work: Any) -> None:
        twice = self.happened and self.mishap == "is undone twice" and do.__name__ in self._undos
        if twice:
            do(work)
        if do.__name__ != self.step or self._begun:
            do(work)
            return
        self._begun = True
        self._meanwhile()
        self.happened = True
        self._let_happen(do, work)

    def watch(self, undos: set[str]) -> None:
        self._undos = undos

    def _let_happen(self, do: Callable[[Any], None], work: Any) -> None:
        if self.mishap == "fails before":
            raise Accident(self.step)
        if self.mishap in ("dies before", GONE):
            _die()
        do(work)
        if self.mishap == "runs twice":
            do(work)
        elif self.mishap == "dies after":
            _die()
        elif self.mishap != WELL:
            raise Accident(self.step)


def _die() -> None:
    loop = current()
    assert loop is not None
    assert loop.task is not None
    loop.task.owner.crash()
    raise Killed


@contextlib.contextmanager
def happening(flow: str, runner: Runner) -> Iterator[None]:
    """Let all work on a flow go through a runner."""
    runner.watch({step.undo.__name__ for step in FLOWS[flow].steps if step.undo is not None})
    if flow == "build":
        make = build.build_flow
        build.build_flow = lambda run=runner: make(run)
        try:
            yield
        finally:
            build.build_flow = make
        return
    before = FLOWS[flow].run
    FLOWS[flow].run = runner
    try:
        yield
    finally:
        FLOWS[flow].run = before


@contextlib.contextmanager
def happening_in_steps(*runners: Runner) -> Iterator[None]:
    """Let the steps of operations go through runners, each through that of its name."""
    before = dict(hosts.STEPS)
    carry_out, place = build.carry_out, Builds.place
    undos = {step.undo for kind in KINDS.values() for step in kind.steps}
    for runner in runners:
        runner.watch({undo.name for undo in undos if undo is not None})
        if runner.step == "build":
            build.carry_out = _through(runner, carry_out)
        elif runner.step == "place":
            Builds.place = lambda *given, through=runner: through(  # type: ignore[method-assign]
                _named("place", lambda given: place(*given)), given
            )
        else:
            do = functools.partial(runner, _named(runner.step, before[runner.step]))
            hosts.STEPS[runner.step] = do  # type: ignore[index]
    try:
        yield
    finally:
        build.carry_out, Builds.place = carry_out, place  # type: ignore[method-assign]
        hosts.STEPS.update(before)  # type: ignore[attr-defined]


def _through(runner: Runner, carry_out: Callable[..., None]) -> Callable[..., None]:
    """Return what carries out builds, as a step of an operation.

    One that fails after it is reported by its host; the second one of two is another message.
    """
    done: list[Build] = []

    def carried(work: Build, flow: Flow[Build]) -> None:
        if runner.mishap == "fails after" and not runner.happened:
            flow = build.build_flow(Runner("spawn", "fails after"))

        def once(work: Build) -> None:
            if work in done:
                names = ("host", "context", "operation", "instance", "selection")
                work = Build(**{name: getattr(work, name) for name in names})
            done.append(work)
            carry_out(work, flow)

        runner(_named("build", once), work)

    return carried


def _named(step: str, do: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return the work of a step under the name of the step."""

    def named(work: Any) -> None:
        do(work)

    named.__name__ = step
    return named
