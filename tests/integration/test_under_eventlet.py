"""What is shown with native threads, shown with eventlet, too: in a process of its own."""

import os
import pathlib
import subprocess
import sys

import pytest

from roost.concurrency import ENVIRONMENT

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "pytest", "-v", "-x", "-p", "no:xdist", "-p", "no:cacheprovider"]
# oslo's libraries warn whoever chooses eventlet, under our name
COMMAND += ["-W", "ignore::DeprecationWarning"]

pytestmark = [pytest.mark.timeout(300), pytest.mark.soak]


def run(*paths):
    """Run tests under eventlet; return what pytest said, once all have passed."""
    environment = {key: v for key, v in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [*COMMAND, *paths],
        cwd=ROOT,
        env=environment | {ENVIRONMENT: "eventlet"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    assert "concurrency: eventlet" in done.stdout
    return done.stdout


def test_the_gate_of_the_api_and_ears_and_rooms_of_servers_do_the_same():
    run(
        "tests/unit/rpc", "tests/unit/api/test_admission.py", "tests/functional/test_rpc_backlog.py"
    )


def test_all_rpc_works_again_whatever_happens_to_the_broker():
    run("tests/integration/test_broker_outages.py")
