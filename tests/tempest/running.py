"""Runs Tempest, and counts what came of its tests."""

import collections
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

from tests.tempest import settings
from tests.tempest.cloud import Cloud

ROOT = pathlib.Path(__file__).parents[2]
EXCLUDED = pathlib.Path(__file__).with_name("excluded.txt")
HABITS = pathlib.Path(__file__).with_name("habits.txt")
PASSED, SKIPPED, FAILED = "ok", "SKIPPED", "FAILED"
_OUTCOME = re.compile(
    r"\{\d+\} (?P<test>.+?)( \[[\d.]+s\])? \.\.\. (?P<outcome>ok|SKIPPED|FAILED)(: (?P<reason>.*))?"
)
_GRACE = 10  # seconds that Tempest has to end when it is told to


def install(folder: pathlib.Path) -> None:
    """Have Tempest in a folder that is kept from run to run."""
    subprocess.run(
        ["sh", ROOT / "tools/tempest.sh", folder],
        env={**os.environ, "PYTHON": sys.executable},
        check=True,
    )


class Results:
    """What came of the tests, read from the lines that Tempest prints."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = collections.defaultdict(list)  # by outcome
        self.reasons: collections.Counter[str] = collections.Counter()  # why tests were skipped

    def read(self, line: str) -> None:
        """Count a line, if it tells of the end of a test."""
        told = _OUTCOME.match(line)
        if told:
            self.tests[told["outcome"]].append(told["test"])
        if told and told["outcome"] == SKIPPED:
            self.reasons[told["reason"] or "no reason told"] += 1

    def summary(self) -> Iterator[str]:
        """Yield what to tell people at the end."""
        passed, skipped, failed = (len(self.tests[kind]) for kind in (PASSED, SKIPPED, FAILED))
        yield f"{passed} passed, {skipped} skipped, {failed} failed"
        yield from (f"  skipped {n:4}: {reason}" for reason, n in self.reasons.most_common())
        yield from (f"  failed: {test}" for test in sorted(self.tests[FAILED]))


class Tempest:
    """Tempest in a workspace of its own, before one cloud.

    :param installed: the folder of :func:`install`
    :param workspace: an empty folder, for its settings, logs and results
    """

    def __init__(self, installed: pathlib.Path, workspace: pathlib.Path, cloud: Cloud) -> None:
        self._program = installed / "venv/bin/tempest"
        self._workspace = workspace
        self._settings = settings.write(workspace, cloud)

    def run(self, *selection: str | pathlib.Path) -> tuple[bool, Results]:
        """Run what is selected and not excluded; return whether all went well, and the results.

        What Tempest prints is printed as it comes. It also fails when nothing was selected, or when
        it could not begin.

        :param selection: arguments of ``tempest run``
        """
        results = Results()
        with self._begun("--exclude-list", EXCLUDED, *selection) as process:
            for line in process.stdout or ():
                results.read(line)
                print(line, end="", flush=True)
            return process.wait() == 0, results

    def list_tests(self) -> list[str]:
        """Return the names of all tests that there are."""
        with self._begun("--list-tests") as process:
            return [line.strip() for line in process.stdout or () if line.startswith("tempest.")]

    def _environment(self) -> dict[str, str]:
        """Return what its runner finds the Python of its own in, whichever others there are."""
        folder = self._program.parent
        return {
            **os.environ,
            "PATH": os.pathsep.join([str(folder), os.environ["PATH"]]),
            "PYTHON": str(folder / "python"),  # stestr prefers it, and CI's means another
            "PYTHONUNBUFFERED": "1",
            "TMPDIR": str(self._workspace),
        }

    @contextlib.contextmanager
    def _begun(self, *arguments: str | pathlib.Path) -> Iterator[subprocess.Popen[str]]:
        """Have Tempest run; none of its processes is left when the block ends."""
        process = subprocess.Popen(
            [self._program, "run", "--config-file", self._settings, *arguments],
            cwd=self._workspace,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        with process:
            try:
                yield process
            finally:
                _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """End a process and its children, softly at first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)


def patterns(path: pathlib.Path) -> dict[str, str]:
    """Read a list of tests as Tempest does: patterns, each with what is said of it."""
    split = (line.partition("#") for line in path.read_text().splitlines())
    return {pattern.strip(): remark.strip() for pattern, _, remark in split if pattern.strip()}
