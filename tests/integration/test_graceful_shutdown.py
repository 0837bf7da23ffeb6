"""A daemon that is told to stop finishes what it is at, or hands it to another; and the killed."""

import pytest

from tests.stories.cloud import Cloud, wait_until
from tests.stories.killed_hosts import *  # noqa: F403
from tests.stories.real_rig import PATIENT, running


@pytest.fixture(scope="module")
def rig(rabbitmq, postgresql):
    with running("threading", rabbitmq, postgresql, overrides=PATIENT) as rig:
        yield rig


@pytest.fixture(scope="module")
def cloud(rig):
    cloud = Cloud(rig)
    yield cloud
    cloud.close()


@pytest.fixture(autouse=True)
def clean_slate(cloud):
    yield
    cloud.delete_all()
    assert cloud.audit() == {}


def building(cloud):
    """Ask for servers, and return their ids once every host has begun."""
    ids = cloud.boot(count=6)
    begun = ("spawning", None)
    wait_until(
        lambda: all(cloud.show(i)["OS-EXT-STS:task_state"] in begun for i in ids), "spawning"
    )
    return ids


@pytest.fixture
def restarted(rig):
    """Stops daemons, and starts them again when the test is over."""
    stopped = []

    def stop(name):
        rig.terminate(name)
        stopped.append(name)
        wait_until(lambda: not rig.pids()[name], f"end of {name}")

    yield stop
    for name in stopped:
        rig.start_daemon(name)


@pytest.mark.parametrize("delay", [1, 20], ids=["soon done", "long to go"])
def test_builds_on_a_host_that_stops_end_in_servers(cloud, restarted, delay):
    with cloud.faults({"step": "spawn", "host": "cell1-host1", "delay": delay}):
        ids = building(cloud)
        restarted("cell1-host1")
    cloud.wait(ids, "ACTIVE")


@pytest.mark.parametrize("name", ["super-conductor", "cell1-conductor", "scheduler"])
def test_boots_go_on_when_a_conductor_is_replaced_under_way(cloud, restarted, rig, name):
    with cloud.faults({"step": "spawn", "delay": 1}):
        ids = building(cloud)
        restarted(name)
        rig.start_daemon(name)
    cloud.wait(ids, "ACTIVE")
