"""Boots, failed boots and deletes, told through HTTP. Run on the embedded rig and on real services.

Every story ends with all servers deleted and every audit at zero.
"""

import collections

import pytest
import requests

from tests.stories.cloud import wait_until

_ACTIONS = "instanceActions"


@pytest.fixture(autouse=True)
def clean_slate(cloud):
    yield
    cloud.delete_all()
    assert cloud.audit() == {}


def some_of_each_cell(cloud):
    """All hosts but the last of each cell."""
    return [host for cell in cloud.plan.cell_names for host in cloud.plan.hosts_of(cell)[:-1]]


def steps(cloud, server_id):
    return [event.name for event in cloud.client.boot_events(server_id)]


def test_servers_boot_in_both_cells(cloud):
    servers = cloud.wait([uuid for _ in range(6) for uuid in cloud.boot()], "ACTIVE")
    cells = {cloud.plan.cell_of(server["OS-EXT-SRV-ATTR:host"]) for server in servers}
    assert cells == set(cloud.plan.cell_names)


def test_one_request_boots_many(cloud):
    ids = cloud.boot(count=5)
    assert len(set(ids)) == 5
    cloud.wait(ids, "ACTIVE")


def test_the_history_of_a_boot_names_every_daemon(cloud):
    (uuid,) = cloud.boot()
    cloud.wait([uuid], "ACTIVE")
    daemons = list(dict.fromkeys(name.split(".")[0] for name in steps(cloud, uuid)))
    assert daemons[:3] == ["api", "super-conductor", "scheduler"]
    assert daemons[3:] == ["compute"]


def test_a_server_gets_the_addresses_it_asked_for(cloud):
    ids = [cloud.boot(networks="auto")[0] for _ in range(3)]
    servers = cloud.wait(ids, "ACTIVE")
    for server in servers:
        assert [len(nics) for nics in server["addresses"].values()] == [1]


def test_a_build_that_fails_on_one_host_goes_on_to_another(cloud):
    rules = [
        {"step": "spawn", "host": host, "kind": "reschedulable", "message": "no luck"}
        for host in some_of_each_cell(cloud)
    ]
    with cloud.faults(*rules):
        servers = cloud.wait([cloud.boot(networks="auto")[0] for _ in range(6)], "ACTIVE")
    assert {s["OS-EXT-SRV-ATTR:host"] for s in servers}.isdisjoint(some_of_each_cell(cloud))
    moved = [s for s in servers if "cell-conductor.reschedule" in steps(cloud, s["id"])]
    assert moved
    for server in moved:
        assert [len(nics) for nics in server["addresses"].values()] == [1]


class Member:
    """A user of a project of their own, who is no administrator."""

    def __init__(self, cloud):
        self._endpoint, self._cloud = cloud.client.endpoint, cloud
        self._who = {"X-Auth-Token": "demo:demo", "OpenStack-API-Version": "compute 2.90"}

    def boot(self):
        asked = {"name": "web", "flavorRef": self._cloud.flavor, "imageRef": self._cloud.image}
        body = {"server": asked | {"networks": "auto"}}
        answer = requests.post(
            f"{self._endpoint}/servers", json=body, headers=self._who, timeout=30
        )
        return answer.json()["server"]["id"]

    def reads_of(self, server_id):
        """All that is told of a server and its history."""
        path = f"/servers/{server_id}"
        actions = f"{path}/os-instance-actions"
        history = self._get(actions)
        steps = [self._get(f"{actions}/{each['request_id']}") for each in history.json()[_ACTIONS]]
        return "\n".join(each.text for each in (self._get(path), history, *steps))

    def _get(self, path):
        answer = requests.get(self._endpoint + path, headers=self._who, timeout=30)
        answer.raise_for_status()
        return answer


@pytest.mark.parametrize("kind", ["reschedulable", "crash"])
def test_attempts_used_up_are_counted_and_administrators_are_told_what_burns(cloud, kind):
    member, inside = Member(cloud), "in /var/lib it burns"
    with cloud.faults({"step": "spawn", "kind": kind, "message": inside}):
        uuid = member.boot()
        (server,) = cloud.wait([uuid], "ERROR")
    told = server["fault"]["details"]
    named = [host for host in cloud.plan.all_hosts if f"{host}: " in told]
    assert len(named) == 3
    assert len({cloud.plan.cell_of(host) for host in named}) == 1
    assert told.count(inside) == 3
    read = member.reads_of(uuid)
    assert "Exceeded maximum number of attempts: 3 hosts were tried." in read
    assert [secret for secret in (inside, *cloud.plan.all_hosts) if secret in read] == []


def test_a_failure_that_no_host_cures_is_not_tried_elsewhere(cloud):
    with cloud.faults({"step": "spawn", "kind": "final", "message": "never"}):
        member = Member(cloud)
        uuid = member.boot()
        (server,) = cloud.wait([uuid], "ERROR")
    assert server["fault"]["message"] == "Build failed: spawn: never"
    assert [host for host in cloud.plan.all_hosts if f"{host}: " in server["fault"]["details"]]
    assert [host for host in cloud.plan.all_hosts if host in member.reads_of(uuid)] == []
    assert "cell-conductor.reschedule" not in steps(cloud, uuid)


def test_a_crash_in_the_hypervisor_is_tried_elsewhere(cloud):
    rules = [{"step": "prepare", "host": h, "kind": "crash"} for h in some_of_each_cell(cloud)]
    with cloud.faults(*rules):
        cloud.wait([cloud.boot()[0] for _ in range(4)], "ACTIVE")


def test_a_server_deleted_while_it_is_built_leaves_nothing(cloud):
    with cloud.faults({"step": "spawn", "delay": 1.5}):
        (uuid,) = cloud.boot(networks="auto")
        wait_until(
            lambda: cloud.show(uuid)["OS-EXT-STS:task_state"] == "spawning", "spawning", timeout=20
        )
        cloud.client.delete_server(uuid)
        cloud.wait_gone([uuid])


def test_servers_deleted_at_any_moment_leave_nothing(cloud):
    with cloud.faults({"step": "image", "delay": 0.2}):
        ids = []
        for _ in range(8):
            ids += cloud.boot(networks="auto")
            cloud.client.delete_server(ids[-1])
        cloud.wait_gone(ids)


def test_a_server_deleted_while_it_is_rescheduled_leaves_nothing(cloud):
    with cloud.faults({"step": "spawn", "kind": "reschedulable", "delay": 0.3}):
        (uuid,) = cloud.boot(networks="auto")
        wait_until(
            lambda: "cell-conductor.reschedule" in steps(cloud, uuid), "a reschedule", timeout=20
        )
        cloud.client.delete_server(uuid)
        cloud.wait_gone([uuid])


def test_a_wish_that_nobody_hears_of_is_built_when_the_conductor_is_back(cloud):
    with cloud.without("super-conductor"):
        (uuid,) = cloud.boot()
        assert cloud.show(uuid)["status"] == "BUILD"
    cloud.wait([uuid], "ACTIVE")


def test_a_wish_deleted_before_anybody_hears_of_it_is_never_built(cloud):
    with cloud.without("super-conductor"):
        (uuid,) = cloud.boot()
        cloud.client.delete_server(uuid)
        assert cloud.show(uuid) is None
    (other,) = cloud.boot()
    cloud.wait([other], "ACTIVE")
    assert cloud.show(uuid) is None


def test_a_host_that_was_dead_builds_what_it_was_told_when_it_is_back(cloud):
    host = cloud.plan.all_hosts[0]
    with cloud.without(host):
        (uuid,) = cloud.boot(availability_zone=f"nova:{host}")
    cloud.wait([uuid], "ACTIVE")


def test_load_is_spread_over_the_hosts(cloud):
    servers = cloud.wait(cloud.boot(count=12), "ACTIVE")
    load = collections.Counter(server["OS-EXT-SRV-ATTR:host"] for server in servers)
    assert max(load.values()) - min(load.values()) <= 1
    assert len(load) == len(cloud.plan.all_hosts)
