"""Daemons under the rig's own supervisord; the daemons here are small scripts."""

import os
import signal
import sys
import uuid

import psutil
import pytest

from roost.rig.processes import Program, Supervisor
from tests.stories.cloud import wait_until

SLEEPER = "import time; print('here', flush=True); time.sleep(600)"
PARENT = f"import os; os.fork(); {SLEEPER}"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"


@pytest.fixture
def supervisor(tmp_path):
    made = Supervisor(uuid.uuid4().hex[:8], tmp_path, grace=1)
    programs = [
        Program(name, [sys.executable, "-c", script], tmp_path / f"{name}.log")
        for name, script in {"one": SLEEPER, "stubborn": STUBBORN, "parent": PARENT}.items()
    ]
    made.start(programs, {"ROOST_RIG_TEST": "yes"})
    yield made
    made.stop()


def ready(tmp_path, name):
    log = tmp_path / f"{name}.log"
    wait_until(lambda: log.exists() and "here" in log.read_text(), f"{name} runs")


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_killed_daemon_stays_dead_until_it_is_started(supervisor, tmp_path):
    supervisor.start_process("one")
    ready(tmp_path, "one")  # by then it has a group of its own
    pid = supervisor.signal("one", "KILL")
    wait_until(lambda: not supervisor.find("one").running, "it is dead")
    supervisor.start_process("one")
    assert supervisor.find("one").pid not in (0, pid)


def test_a_daemon_that_will_not_end_is_killed(supervisor, tmp_path):
    supervisor.start_process("stubborn")
    ready(tmp_path, "stubborn")
    pid = supervisor.find("stubborn").pid
    supervisor.stop()
    assert not alive(pid)


def test_a_daemon_is_stopped_with_its_workers_and_goes_on_with_them(supervisor, tmp_path):
    supervisor.start_process("parent")
    ready(tmp_path, "parent")
    parent = psutil.Process(supervisor.signal("parent", "STOP"))
    family = [parent, *parent.children()]
    assert len(family) == 2
    wait_until(lambda: {each.status() for each in family} == {psutil.STATUS_STOPPED}, "stopped")
    supervisor.signal("parent", "CONT")
    wait_until(lambda: psutil.STATUS_STOPPED not in {e.status() for e in family}, "going on")


def test_daemons_whose_supervisord_was_killed_end_with_the_rig(supervisor, tmp_path):
    for name in ("one", "parent"):
        supervisor.start_process(name)
        ready(tmp_path, name)
    parent = psutil.Process(supervisor.find("parent").pid)
    left = [parent.pid, *(child.pid for child in parent.children()), supervisor.find("one").pid]
    assert len(left) == 3
    os.kill(supervisor.pid, signal.SIGKILL)
    wait_until(lambda: supervisor.pid is None, "supervisord is gone")
    supervisor.stop()
    wait_until(lambda: not any(alive(pid) for pid in left), "they are gone, too")
    supervisor.stop()


def test_those_who_stand_on_others_end_before_them(supervisor, tmp_path):
    for name in ("one", "stubborn"):
        supervisor.start_process(name)
        ready(tmp_path, name)
    supervisor.stop(first=["stubborn"])
    told = (tmp_path / "supervisord.log").read_text()
    assert 0 < told.index("stopped: stubborn") < told.index("stopped: one")
