"""Run all that CI runs, one stage after the other, and say at the end how each went.

What lives in virtual time does not mind to wait: it runs beside the others, in what they leave of
the processors, and is told last. A stage that fails does not keep the next from running. The few
tests that fail in a stage run once more, alone: what passes then is no failure of the change, and
is named at the end as unsteady so that somebody mends it. Ends with the closing line of every
pytest run and the tests that failed, and exits 1 when anything did.
"""

import contextlib
import dataclasses
import io
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent import futures
from typing import TextIO

ROOT = pathlib.Path(__file__).parent.parent
PYTEST = [sys.executable, "-m", "pytest", "--color=no"]
# What shares a rig stays together; tests/xdist_scheduling.py says what begins. Without the last
# word
# modules of few tests come last, and the longest have few.
BESIDE = ["--dist", "loadfile", "--no-loadscope-reorder", "--durations", "30"]
STAGES = {
    "lint": ["sh", "tools/lint.sh"],
    "doc": ["sh", "tools/doc.sh"],
    "unit": [*PYTEST, "-n", "2"],
    "functional": [*PYTEST, *BESIDE, "-n", "2"],
    "integration": [*PYTEST, *BESIDE, "-n", "3"],  # mostly waiting
    "simulated": ["nice", "-n", "19", *PYTEST, *BESIDE, "-n", "2"],
}
IN_VIRTUAL_TIME = ("simulated",)
# Once for all: as pytest rewrites them, modules of tests take longer to compile than to run.
COMPILE = [*PYTEST, "--collect-only", "-p", "no:cacheprovider", "tests"]
SHAPES = ".services/outside/nova"  # by which the functional tests measure answers
# Before a stage, begun with the first: tests that need it begin it themselves, or wait for its end.
BEFOREHAND = {
    "unit": COMPILE,
    "functional": ["sh", "tools/nova.sh", SHAPES],
    "integration": ["sh", "tools/outside.sh"],
}
WRITES_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
SOME_FAILED = 1  # pytest's word for it; any other says that not all tests ran
# More than this many failures have a cause, and running them again would hide it.
RUN_AGAIN_AT_MOST = 5


@dataclasses.dataclass(frozen=True)
class Outcome:
    stage: str
    status: int  # that the command exited with
    seconds: float
    closing: str
    failed: tuple[str, ...] = ()  # the tests that failed, whether or not they passed again

    @property
    def passed(self) -> bool:
        return self.status == 0

    def __str__(self) -> str:
        verdict = "FAILED" if not self.passed else "unsteady" if self.failed else "ok"
        return f"{self.stage:<12} {verdict:<8} {self.seconds:5.0f} s"


def stage(name: str, out: TextIO) -> Outcome:
    """Run one stage, and what failed of it once more."""
    if "pytest" not in STAGES[name]:
        return run(name, STAGES[name], out)
    cache = ROOT / ".pytest_cache" / name
    tests = ["-o", f"cache_dir={cache}", f"tests/{name}"]
    first = run(name, [*STAGES[name], "--cache-clear", *tests], out)
    failed = () if first.passed else failures(cache)
    if first.status != SOME_FAILED or len(failed) > RUN_AGAIN_AT_MOST:
        return dataclasses.replace(first, failed=failed)
    again = run(name, [*PYTEST, "--last-failed", "--last-failed-no-failures=none", *tests], out)
    seconds = first.seconds + again.seconds
    return dataclasses.replace(first, status=again.status, seconds=seconds, failed=failed)


def failures(cache: pathlib.Path) -> tuple[str, ...]:
    """The tests of which pytest's last run says that they failed."""
    written = cache / "v" / "cache" / "lastfailed"
    return tuple(json.loads(written.read_text())) if written.exists() else ()


@contextlib.contextmanager
def prepared(names: Iterable[str]) -> Iterator[None]:
    """Do beside the first stages what later ones need; tests that miss it say what is wrong."""
    begun = [
        subprocess.Popen(
            BEFOREHAND[name],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name in names
        if name in BEFOREHAND
    ]
    try:
        yield
    finally:
        for process in begun:
            process.terminate()
            process.wait()


def run(name: str, command: list[str], out: TextIO) -> Outcome:
    """Run one command, its output passed through line by line."""
    print(f"==== {name}: {' '.join(command)}", file=out, flush=True)
    began = time.monotonic()
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        closing = ""
        for line in process.stdout or ():
            print(line, end="", file=out, flush=True)
            closing = line.strip() or closing
    return Outcome(name, process.returncode, time.monotonic() - began, closing)


def environment() -> dict[str, str]:
    """Return that of all that runs: our own programs are found, and nothing is compiled twice.

    Answers of the API are measured by Nova's schemas, which nobody needs who runs pytest alone.
    """
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    kept = {name: value for name, value in os.environ.items() if name != WRITES_NO_BYTECODE}
    return {**kept, "PATH": path, "PYTHON": sys.executable, "ROOST_SHAPES": str(ROOT / SHAPES)}


def stage_beside(name: str) -> tuple[Outcome, str]:
    """Run a stage while others print, and return what it said."""
    said = io.StringIO()
    return stage(name, said), said.getvalue()


def stages(names: Sequence[str]) -> Iterator[Outcome]:
    """Run them, what lives in virtual time beside the others."""
    with prepared(names), futures.ThreadPoolExecutor() as pool:
        beside = [pool.submit(stage_beside, name) for name in names if name in IN_VIRTUAL_TIME]
        yield from (stage(name, sys.stdout) for name in names if name not in IN_VIRTUAL_TIME)
        for ended in beside:
            outcome, said = ended.result()
            print(said, flush=True)
            yield outcome


def main(names: Sequence[str]) -> int:
    began = time.monotonic()
    outcomes = list(stages(names or [*STAGES]))
    print("\n==== summary")
    for outcome in outcomes:
        print(outcome)
    print(f"{'all':<12} {'':<8} {time.monotonic() - began:5.0f} s\n")
    for outcome in outcomes:
        if "pytest" in STAGES[outcome.stage]:
            print(outcome.closing)
        for test in outcome.failed:
            print(f"  {'passed alone' if outcome.passed else 'failed'}: {test}")
    return 0 if all(outcome.passed for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
