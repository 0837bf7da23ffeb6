"""What a host was at when it died goes on without it, and nothing is left when it is back.

Told of a ``cloud`` whose daemons count as down, and whose leases end, after a few seconds.
"""

import pytest

from tests.stories.cloud import wait_until
from tests.stories.liveness import wait_for_all

SPAWNING = "spawning"


@pytest.fixture(autouse=True)
def clean_slate(cloud):
    yield
    cloud.delete_all()
    assert cloud.audit() == {}


def at_work_on(cloud, server_ids, host=None, task=SPAWNING):
    """Return those of these servers that a host has under a task."""
    found = [cloud.show(server_id) for server_id in server_ids]
    return [
        server["id"]
        for server in found
        if server
        and server["OS-EXT-STS:task_state"] == task
        and host in (None, server["OS-EXT-SRV-ATTR:host"])
    ]


def spawn_on(cloud, host):
    """Boot until one server is being spawned on a host; return the ids of all, that one first."""
    ids = []

    def boot_and_look():
        if len(ids) < 12:
            ids.extend(cloud.boot())
        return at_work_on(cloud, ids, host)

    mine = wait_until(boot_and_look, f"a server spawning on {host}")
    return [*mine, *(server_id for server_id in ids if server_id not in mine)]


def test_what_a_dead_host_was_at_ends_without_it_and_leaves_nothing_there(cloud):
    victim = cloud.plan.all_hosts[0]
    ended = cloud.boot(availability_zone=f"nova:{victim}")
    cloud.wait(ended, "ACTIVE")
    with cloud.faults({"step": "spawn", "host": victim, "delay": 30}):
        ids = spawn_on(cloud, victim)
        with cloud.without(victim):
            cloud.client.delete_server(ended[0])
            for server in cloud.wait(ids, "ACTIVE"):
                assert server["OS-EXT-SRV-ATTR:host"] != victim
            cloud.wait_gone(ended)
    wait_for_all(cloud)
