"""The whole of Roost in virtual time on a hostile bus: see ``tests/simulation``.

A failure names the seed, and the command that repeats it.
"""

import ast
import datetime
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent.parent
SEEDS, BLOCK = 48, 12
DAYS = 10  # seeds of one day: other ones each day, for at most a minute
# Where tests run side by side, the blocks do.
JOBS = "1" if "PYTEST_XDIST_WORKER" in os.environ else "2"
pytestmark = pytest.mark.timeout(3600)  # they run where nothing else wants to
REPLACED = ("time", "threading", "datetime", "random", "secrets", "concurrent.futures", "queue")


def simulate(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.simulation", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=3500,
    )


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_whatever_is_lost_late_doubled_or_killed_everything_ends_in_order(first):
    ran = simulate("--first", str(first), "--seeds", str(BLOCK), "--jobs", JOBS)
    assert ran.returncode == 0, ran.stdout


def test_the_seeds_of_the_day_end_in_order():
    first = 1_000_000 + datetime.datetime.now(datetime.UTC).toordinal() * DAYS
    print(f"seeds {first} to {first + DAYS - 1}")
    ran = simulate("--first", str(first), "--seeds", str(DAYS), "--jobs", JOBS)
    assert ran.returncode == 0, ran.stdout


def test_a_seed_tells_the_same_story_each_time_and_others_tell_others():
    stories = [simulate("--seed", "12", PYTHONHASHSEED=hashes).stdout for hashes in ("1", "2")]
    assert "digest" in stories[0]
    assert stories[0] == stories[1]
    assert simulate("--seed", "13").stdout != stories[0]


def test_clocks_threads_and_chance_are_taken_from_their_modules_where_worlds_replace_them():
    taken_out = [
        f"{path}:{node.lineno} from {node.module} import ..."
        for path in sorted(ROOT.glob("roost/**/*.py"))
        if path.relative_to(ROOT).parts[1] not in ("rig", "migrations")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module in REPLACED
    ]
    assert taken_out == []
