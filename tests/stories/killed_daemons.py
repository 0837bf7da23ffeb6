"""Daemons of a rig of real processes that are killed, or stand still, while they are at work."""

import time

import pytest

from tests.stories.cloud import wait_until
from tests.stories.liveness import wait_for_all
from tests.stories.recovery import clean_slate, spawn_on  # noqa: F401 - a fixture of these, too

STANDSTILL = 12  # seconds: longer than a lease


@pytest.fixture
def victim(cloud):
    name = cloud.plan.all_hosts[-1]
    yield name
    wait_for_all(cloud)


def kill_and_start(cloud, name):
    """Kill a daemon, and start it as soon as its supervisor knows that it is dead."""
    with cloud.without(name):
        wait_until(lambda: not cloud.rig.pids()[name], f"end of {name}")


def test_a_build_goes_on_when_its_host_is_killed_and_comes_back_at_once(cloud, victim):
    with cloud.faults({"step": "spawn", "host": victim, "delay": 30}):
        ids = spawn_on(cloud, victim)
        kill_and_start(cloud, victim)
    cloud.wait(ids, "ACTIVE")


def test_a_host_that_stood_still_while_it_spawned_leaves_one_guest_of_each_server(cloud, victim):
    with cloud.faults({"step": "spawn", "host": victim, "delay": 4}):
        ids = spawn_on(cloud, victim)
        cloud.rig.signal(victim, "STOP")
        try:
            time.sleep(STANDSTILL)
        finally:
            cloud.rig.signal(victim, "CONT")
    cloud.wait(ids, "ACTIVE")
    assert cloud.audit() == {}


def test_a_conductor_killed_over_its_reschedules_loses_none(cloud):
    cell = cloud.plan.cell_names[0]
    hosts = cloud.plan.hosts_of(cell)
    bad = [
        {"step": "spawn", "host": host, "kind": "reschedulable", "delay": 0.1 * number}
        for number, host in enumerate(hosts[:-1], start=1)
    ]
    with cloud.faults(*bad):
        ids = [uuid for _ in range(4) for uuid in cloud.boot()]
        wait_until(lambda: any(cloud.client.boot_events(i) for i in ids), "the first steps")
        kill_and_start(cloud, f"{cell}-conductor")
        cloud.wait(ids, "ACTIVE")
