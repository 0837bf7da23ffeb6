"""Run all that CI runs, one stage after the other, and say at the end how each went.

What lives in virtual time does not mind to wait: it runs beside the others, in what they leave of
the processors, and is told last. A stage that fails does not keep the next from running; nothing
runs twice. With ``--soak`` it runs the parts of the soak instead, all or those that are named, each
for so many minutes at most: see ``tests/parts.py``. Ends with the closing line of every pytest run
and the tests that failed, and exits 1 when anything did.
"""

import contextlib
import dataclasses
import io
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent import futures
from typing import TextIO

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests import parts  # noqa: E402 - found by the line above

PYTEST = [sys.executable, "-m", "pytest", "--color=no", "--durations", "30"]
SUITE = [*PYTEST, "-m", "not soak", *(f"--ignore={module}" for module in parts.IN_PARTS)]
MODES = [*PYTEST, "-m", "soak", *(f"--ignore={module}" for module in parts.IN_SOME_PART)]
# What shares a rig stays together; tests/xdist_scheduling.py says what begins. Without the last
# word modules of few tests come last, and the longest have few.
BESIDE = ["--dist", "loadfile", "--no-loadscope-reorder"]
CLIENTS = f"{sys.executable} -m tests.clients"
SIMULATION = [sys.executable, "-W", "ignore", "-m", "tests.simulation", "--jobs", "2"]
STAGES = {
    "lint": ["sh", "tools/lint.sh"],
    "doc": ["sh", "tools/doc.sh"],
    "unit": [*SUITE, "-n", "2", "tests/unit"],
    "functional": [*SUITE, *BESIDE, "-n", "3", "tests/functional"],  # waiting, too
    "integration": [*SUITE, *BESIDE, "-n", "3", "tests/integration"],  # mostly waiting
    "simulated": ["nice", "-n", "19", *SUITE, *BESIDE, "-n", "2", "tests/simulated"],
}
IN_VIRTUAL_TIME = ("simulated",)
SOAK = {
    **{
        part: ([*PYTEST, *BESIDE, "-n", "3", *parts.modules_of(part)], parts.MINUTES[part])
        for part in parts.MODULES
    },
    parts.MODES: ([*MODES, *BESIDE, "-n", "3", *parts.MODES_OF], 20),
    parts.STEPS: ([*PYTEST, *BESIDE, "-n", "2", "-m", "soak", "tests/simulated"], 20),
    parts.SEEDS: ([*SIMULATION, "--seeds", "1000"], 20),
    parts.CLIENTS: (["sh", "-c", " && ".join(f"{CLIENTS} {one}" for one in ("sdk", "osc"))], 20),
}
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


@dataclasses.dataclass(frozen=True)
class Outcome:
    stage: str
    status: int  # that the command exited with
    seconds: float
    closing: str
    failed: tuple[str, ...] = ()  # lines of pytest's summary

    @property
    def passed(self) -> bool:
        return self.status == 0

    def __str__(self) -> str:
        return f"{self.stage:<12} {'ok' if self.passed else 'FAILED':<8} {self.seconds:5.0f} s"


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


def run(name: str, command: list[str], out: TextIO, minutes: float | None = None) -> Outcome:
    """Run one command, its output passed through line by line; end it after so many minutes."""
    print(f"==== {name}: {' '.join(command)}", file=out, flush=True)
    began = time.monotonic()
    bound = ["timeout", "--kill-after=30", f"{minutes}m"] if minutes else []
    with subprocess.Popen(
        [*bound, *command],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        closing, failed = "", []
        for line in process.stdout or ():
            print(line, end="", file=out, flush=True)
            closing = line.strip() or closing
            if line.startswith(("FAILED ", "ERROR ")):
                failed.append(line.strip())
    seconds = time.monotonic() - began
    return Outcome(name, process.returncode, seconds, closing, tuple(failed))


def environment() -> dict[str, str]:
    """Return that of all that runs: our own programs are found, and nothing is compiled twice.

    Answers of the API are measured by Nova's schemas, which nobody needs who runs pytest alone.
    """
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    kept = {name: value for name, value in os.environ.items() if name != WRITES_NO_BYTECODE}
    return {**kept, "PATH": path, "PYTHON": sys.executable, "ROOST_SHAPES": str(ROOT / SHAPES)}


def beside(name: str) -> tuple[Outcome, str]:
    """Run a stage while others print, and return what it said."""
    said = io.StringIO()
    return run(name, STAGES[name], said), said.getvalue()


def stages(names: Sequence[str]) -> Iterator[Outcome]:
    """Run them, what lives in virtual time beside the others."""
    with prepared(names), futures.ThreadPoolExecutor() as pool:
        begun = [pool.submit(beside, name) for name in names if name in IN_VIRTUAL_TIME]
        for name in names:
            if name not in IN_VIRTUAL_TIME:
                yield run(name, STAGES[name], sys.stdout)
        for ended in begun:
            outcome, said = ended.result()
            print(said, flush=True)
            yield outcome


def soak(names: Sequence[str]) -> Iterator[Outcome]:
    """Run parts of the soak, one after the other; what the first tests need is installed before."""
    subprocess.run(BEFOREHAND["functional"], cwd=ROOT, env=environment(), check=False)
    with prepared(["integration"]):
        for name in names:
            command, minutes = SOAK[name]
            yield run(name, command, sys.stdout, minutes)


def main(words: Sequence[str]) -> int:
    began = time.monotonic()
    what, known, names = stages, [*STAGES], list(words)
    if names[:1] == ["--soak"]:
        what, known, names = soak, [*SOAK], names[1:]
    if unknown := [name for name in names if name not in known]:
        print(f"no such part: {' '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    outcomes = list(what(names or known))
    print("\n==== summary")
    for outcome in outcomes:
        print(outcome)
    print(f"{'all':<12} {'':<8} {time.monotonic() - began:5.0f} s\n")
    for outcome in outcomes:
        if " passed" in outcome.closing or " failed" in outcome.closing:
            print(outcome.closing)
        for test in outcome.failed:
            print(f"  {test}")
    return 0 if all(outcome.passed for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
