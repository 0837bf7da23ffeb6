"""Server groups, told through HTTP: where their servers end up, and why some end up nowhere."""

import collections
import concurrent.futures

import pytest
import requests

from tests.stories.boots import clean_slate  # noqa: F401 - after each of these, too
from tests.stories.cloud import wait_until

HOST = "OS-EXT-SRV-ATTR:host"
VERSION = {"OpenStack-API-Version": "compute 2.64"}


@pytest.fixture
def group(cloud):
    """Make groups, which go when the story ends."""
    made = []
    path = f"{cloud.client.endpoint}/os-server-groups"

    def make(policy, **rules):
        body = {"server_group": {"name": policy, "policy": policy, "rules": rules}}
        answer = requests.post(path, json=body, headers=VERSION, timeout=30)
        made.append(answer.json()["server_group"]["id"])
        return made[-1]

    yield make
    for identity in made:
        requests.delete(f"{path}/{identity}", timeout=30)


def boot(cloud, group, **values):
    return cloud.boot(**values, **{"os:scheduler_hints": {"group": group}})


def boot_at_once(cloud, group, count):
    """Send so many requests for a server each, all at once."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return [
            uuid for ids in pool.map(lambda _: boot(cloud, group), range(count)) for uuid in ids
        ]


def settled(cloud, ids):
    """Wait until none is on its way; return the hosts of those ACTIVE, the faults of the others."""

    def look():
        found = [cloud.show(uuid) for uuid in ids]
        return found if all(server["status"] in ("ACTIVE", "ERROR") for server in found) else None

    servers = wait_until(look, f"an end of {ids}")
    hosts = [server[HOST] for server in servers if server["status"] == "ACTIVE"]
    return hosts, [server["fault"]["message"] for server in servers if server["status"] == "ERROR"]


def load(hosts):
    return sorted(collections.Counter(hosts).values())


def test_anti_affinity_gives_each_server_a_host_of_its_own_and_the_last_none(cloud, group):
    apart = group("anti-affinity")
    everywhere = cloud.plan.all_hosts
    servers = cloud.wait(boot(cloud, apart, count=len(everywhere)), "ACTIVE")
    assert {server[HOST] for server in servers} == set(everywhere)

    hosts, (fault,) = settled(cloud, boot(cloud, apart))
    assert hosts == []
    assert fault.startswith("No valid host was found")
    assert f"{len(everywhere)} hosts" in fault
    assert "group" in fault


def test_boots_at_once_never_break_anti_affinity(cloud, group):
    apart = group("anti-affinity")
    count = len(cloud.plan.all_hosts)
    hosts, faults = settled(cloud, boot_at_once(cloud, apart, count + 4))
    assert load(hosts) == [1] * count
    assert len(faults) == 4


def test_as_many_servers_to_a_host_as_the_rule_says(cloud, group):
    apart = group("anti-affinity", max_server_per_host=2)
    count = len(cloud.plan.all_hosts)
    hosts, faults = settled(cloud, boot_at_once(cloud, apart, 2 * count + 1))
    assert load(hosts) == [2] * count
    assert len(faults) == 1


def test_affinity_keeps_servers_together(cloud, group):
    together = group("affinity")
    hosts, faults = settled(cloud, boot_at_once(cloud, together, 4))
    assert (load(hosts), faults) == ([4], [])
    (later,) = cloud.wait(boot(cloud, together), "ACTIVE")
    assert later[HOST] == hosts[0]


def test_soft_anti_affinity_spreads_as_long_as_it_can(cloud, group):
    apart = group("soft-anti-affinity")
    count = len(cloud.plan.all_hosts)
    servers = cloud.wait(boot(cloud, apart, count=count + 2), "ACTIVE")
    assert load(server[HOST] for server in servers) == [1] * (count - 2) + [2, 2]


def test_soft_affinity_keeps_together_what_fits(cloud, group):
    together = group("soft-affinity")
    servers = cloud.wait(boot(cloud, together, count=3), "ACTIVE")
    (first,) = {server[HOST] for server in servers}
    half = cloud.create_flavor(name=f"half-{together}", ram=140 * 1024)
    hosts = {server[HOST] for server in cloud.wait(boot(cloud, together, flavorRef=half), "ACTIVE")}
    assert hosts == {first}
    hosts = {server[HOST] for server in cloud.wait(boot(cloud, together, flavorRef=half), "ACTIVE")}
    assert hosts != {first}


def test_a_rescheduled_server_keeps_away_from_the_others(cloud, group):
    apart = group("anti-affinity")
    broken = [cloud.plan.hosts_of(cell)[0] for cell in cloud.plan.cell_names]
    rules = [{"step": "spawn", "host": host, "kind": "reschedulable"} for host in broken]
    with cloud.faults(*rules):
        count = len(cloud.plan.all_hosts) - len(broken)
        hosts, _ = settled(cloud, boot_at_once(cloud, apart, count))
    assert len(hosts) == len(set(hosts))
    assert set(hosts).isdisjoint(broken)


def test_the_place_of_a_deleted_server_is_free_for_another(cloud, group):
    apart = group("anti-affinity")
    ids = boot(cloud, apart, count=len(cloud.plan.all_hosts))
    first = cloud.wait(ids, "ACTIVE")[0]
    cloud.client.delete_server(first["id"])
    cloud.wait_gone([first["id"]])
    hosts, faults = settled(cloud, boot(cloud, apart))
    assert (hosts, faults) == ([first[HOST]], [])


def test_a_server_forced_to_a_host_gets_there_whatever_its_group_says(cloud, group):
    apart = group("anti-affinity")
    host = cloud.plan.all_hosts[0]
    zone = {"availability_zone": f"nova:{host}"}
    ids = [uuid for _ in range(2) for uuid in boot(cloud, apart, **zone)]
    assert [server[HOST] for server in cloud.wait(ids, "ACTIVE")] == [host, host]


def test_a_scheduler_that_was_away_when_a_group_came_places_its_servers_all_the_same(cloud, group):
    with cloud.without("scheduler"):
        apart = group("anti-affinity")
        ids = [uuid for _ in range(2) for uuid in boot(cloud, apart)]
    hosts, _ = settled(cloud, ids)
    assert load(hosts) == [1, 1]
