"""Run all that CI runs, one stage after the other, and say at the end how each went.

A stage that fails does not keep the next from running. Ends with the closing line of every pytest
run, and exits 1 when anything failed.
"""

import dataclasses
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parent.parent
PYTEST = [sys.executable, "-m", "pytest", "--color=no"]
STAGES = {
    "lint": ["sh", "tools/lint.sh"],
    "doc": ["sh", "tools/doc.sh"],
    "unit": [*PYTEST, "-n", "2", "tests/unit"],
    "functional": [*PYTEST, "tests/functional"],
    "integration": [*PYTEST, "tests/integration"],
}


@dataclasses.dataclass(frozen=True)
class Outcome:
    stage: str
    passed: bool
    seconds: float
    closing: str

    def __str__(self) -> str:
        verdict = "ok" if self.passed else "FAILED"
        return f"{self.stage:<12} {verdict:<7} {self.seconds:5.0f} s"


def run(stage: str, command: list[str]) -> Outcome:
    """Run one stage, its output passed through line by line."""
    print(f"==== {stage}: {' '.join(command)}", flush=True)
    began = time.monotonic()
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        closing = ""
        for line in process.stdout or ():
            print(line, end="", flush=True)
            closing = line.strip() or closing
    return Outcome(stage, process.returncode == 0, time.monotonic() - began, closing)


def main(names: list[str]) -> int:
    outcomes = [run(name, STAGES[name]) for name in names or STAGES]
    print("\n==== summary")
    for outcome in outcomes:
        print(outcome)
    print(f"{'all':<12} {'':<7} {sum(o.seconds for o in outcomes):5.0f} s\n")
    for outcome in outcomes:
        if "pytest" in STAGES[outcome.stage]:
            print(outcome.closing)
    return 0 if all(outcome.passed for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
