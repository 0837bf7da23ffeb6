"""Who looks after the daemons of a chaos run."""

import os

import pytest

from roost.rig.chaos.breaker import Made
from roost.rig.chaos.keeper import Keeper
from roost.rig.chaos.schedule import Fault
from roost.rig.plan import new_plan
from roost.rig.processes import Process


class Supervisor:
    """Two daemons: one is this process, one has ended."""

    def __init__(self):
        self.started = []

    def list_processes(self):
        return [Process("api", "running", os.getpid(), 0.0), Process("scheduler", "exited", 0, 0.0)]

    def start_process(self, name):
        self.started.append(name)


@pytest.fixture
def supervisor():
    return Supervisor()


@pytest.fixture
def plan(tmp_path):
    plan = new_plan(tmp_path, cells=1, hosts=1)
    plan.save()
    plan.log_file("scheduler").write_text("all is well\nno, it is not\n")
    return plan


def keeper(plan, supervisor, *made):
    return Keeper(plan, supervisor, made=lambda: made)


def kill(name, healed=None):
    return Made(Fault(1, 0, 5, "kill", name), 0.0, healed)


def test_a_daemon_that_ended_by_itself_is_noted_and_started(plan, supervisor):
    one = keeper(plan, supervisor)
    one.look()
    (death,) = one.deaths
    assert (death.name, death.last_lines) == ("scheduler", "all is well\nno, it is not")
    assert supervisor.started == ["scheduler"]


def test_a_daemon_that_a_fault_killed_is_left_to_it(plan, supervisor):
    one = keeper(plan, supervisor, kill("scheduler"))
    one.look()
    assert (one.deaths, supervisor.started) == ([], [])


def test_a_fault_that_is_long_over_explains_no_death(plan, supervisor):
    one = keeper(plan, supervisor, kill("scheduler", healed=-1000.0), kill("api"))
    one.look()
    assert [death.name for death in one.deaths] == ["scheduler"]
