"""What the schedulers know of hosts is what the hosts pretend, and what was booted on them."""

import json

import pytest

from roost.compute.virt.capabilities import TRAITS
from roost.db.engine import Database
from roost.db.scheduler.reports import note_read_parts
from roost.objects import NUMACell, PciPool
from tests.builders import a_uuid
from tests.functional.embedded import embedded_cloud
from tests.stories.boots import clean_slate  # noqa: F401 - after each of these, too
from tests.stories.cloud import wait_until

CELLS = [
    {
        "id": number,
        "cpus": [4 * number],
        "pcpus": [4 * number + at for at in (1, 2, 3)],
        "memory_mb": 8192,
        "siblings": [],
        "page_counts": {"2048": 512},
    }
    for number in range(2)
]
POOL = {"vendor_id": "8086", "product_id": "1520", "numa_node": 1, "count": 4, "tags": {"net": "a"}}
PRETENDED = {
    "cell1-host1": {
        "disk_gb": 77,
        "hypervisor_type": "QEMU",
        "hypervisor_version": 6002000,
        "architectures": ["aarch64", "x86_64"],
        "capabilities": {"cpu_info:vendor": "Arm"},
        "traits": ["CUSTOM_GOLD", "HW_CPU_X86_AVX2"],
        "labels": ["rack7"],
        "cpu_info": {"arch": "aarch64", "topology": {"cores": 4, "sockets": 2}},
        "metrics": {"temperature": 21.5},
        "numa_cells": CELLS,
        "pci_pools": [POOL],
    },
    "*": {"vcpus": 5, "memory_mb": 6000, "labels": ["rack8"]},
}
NETWORKS = ["any=10.0.0.0/16", "near=10.1.0.0/16 label=rack7", "far=10.2.0.0/16 label=mars"]
RICH, PLAIN = "cell1-host1", "cell1-host2"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    with embedded_cloud(
        tmp_path_factory.mktemp("rig"),
        cells=1,
        hosts=2,
        overrides={
            "compute": {"host_ip": "192.0.2.7", "labels": "east"},
            "conductor": {"task_lease_seconds": 1.0},
            "DEFAULT": {"service_down_time": 60.0},  # hosts here are away for a moment only
            "network": {"local_networks": NETWORKS},
        },
        inventory=PRETENDED,
    ) as cloud:
        yield cloud


def boot_on(cloud, host, **values):
    return cloud.boot(availability_zone=f"nova:{host}", **values)


def test_a_host_is_known_by_all_that_it_pretends(cloud):
    known, pretended = cloud.hosts()[RICH], PRETENDED[RICH]
    others = {"labels", "traits", "cpu_info", "numa_cells", "pci_pools", "metrics"}
    for name in pretended.keys() - {*others, "disk_gb"}:
        assert getattr(known, name) == pretended[name], name
    assert known.amount("DISK_GB") == pretended["disk_gb"]
    assert {*known.traits} == {*pretended["traits"], *TRAITS.values()}
    assert known.labels == ["east", "rack7"]
    assert known.numa_cells == [NUMACell.of(**cell) for cell in CELLS]
    assert known.pci_pools == [PciPool.of(**POOL)]
    assert (known.amount("VCPU"), known.amount("PCPU"), known.amount("MEMORY_MB")) == (2, 6, 16384)
    assert known.host_ip == "192.0.2.7"


def test_hosts_send_what_some_scheduler_reads_of_their_metrics(cloud):
    metrics = PRETENDED[RICH]["metrics"]
    wait_until(lambda: cloud.hosts()[RICH].metrics == {}, "a report without metrics")
    database = Database(cloud.plan.database_url("scheduler"), connections=1)
    other = a_uuid()  # a scheduler with other plug-ins
    database.write(lambda session: note_read_parts(session, other, ["metrics.temperature"]))
    wait_until(lambda: cloud.hosts()[RICH].metrics == metrics, "a report with them")
    database.write(lambda session: note_read_parts(session, other, []))
    wait_until(lambda: cloud.hosts()[RICH].metrics == {}, "a report without them again")
    database.close()


def hypervisor(cloud, host, **more):
    found = cloud.client.get("/os-hypervisors/detail", **more)["hypervisors"]
    return next(one for one in found if one["hypervisor_hostname"] == host)


def test_operators_see_it_as_a_hypervisor(cloud):
    (server,) = cloud.wait(boot_on(cloud, PLAIN), "ACTIVE")
    # The report that its build counts in may come between two looks.
    wait_until(lambda: cloud.hosts()[PLAIN].io_operations == 0, "nothing under way")
    seen = hypervisor(cloud, PLAIN, with_servers="true")
    assert seen["servers"] == [{"uuid": server["id"], "name": server["name"]}]
    shown = cloud.client.get(f"/os-hypervisors/{seen['id']}", with_servers="true")["hypervisor"]
    assert shown | {"uptime": seen["uptime"]} == seen  # which tells the time
    assert (seen["state"], seen["status"], seen["host_ip"]) == ("up", "enabled", "192.0.2.7")
    assert seen["service"]["id"] == cloud.service(PLAIN)["id"]
    assert " up " in seen["uptime"]
    assert "users,  load average: " in seen["uptime"].replace("user,", "users,")
    assert (cloud.hosts()[PLAIN].instances_used, cloud.hosts()[RICH].instances_used) == (1, 0)
    cpu_info = json.loads(cloud.hosts()[RICH].cpu_info)
    assert cpu_info == PRETENDED[RICH]["cpu_info"]


def test_a_host_that_is_removed_leaves_nothing_behind_and_may_come_back(cloud):
    identity = hypervisor(cloud, PLAIN)["id"]
    with cloud.without(PLAIN):
        cloud.client.delete(f"/os-services/{cloud.service(PLAIN)['id']}")
        assert [one["host"] for one in cloud.client.services() if "host" in one["host"]] == [RICH]
        assert list(cloud.hosts()) == [RICH]
        assert cloud.audit() == {}
    wait_until(lambda: PLAIN in cloud.hosts(), "a report of the host that came back")
    assert hypervisor(cloud, PLAIN)["id"] == identity
    cloud.wait(boot_on(cloud, PLAIN), "ACTIVE")


def test_what_is_booted_on_a_host_is_used_there_until_it_is_deleted(cloud):
    flavor = cloud.create_flavor(name="sized", vcpus=2, ram=1000, disk=3)
    servers = cloud.wait(boot_on(cloud, PLAIN, flavorRef=flavor, count=2), "ACTIVE")
    known = cloud.hosts()[PLAIN]
    assert (
        known.amount("VCPU", "used"),
        known.amount("MEMORY_MB", "used"),
        known.amount("DISK_GB", "used"),
    ) == (4, 2000, 6)
    cloud.delete_all()
    known = cloud.hosts()[PLAIN]
    assert (
        known.amount("VCPU", "used"),
        known.amount("MEMORY_MB", "used"),
        known.amount("DISK_GB", "used"),
    ) == (0, 0, 0)
    assert cloud.claims().keys().isdisjoint(server["id"] for server in servers)


def confirmed(cloud, ids):
    """Wait until hosts have confirmed the claims of all these servers, and return all claims."""

    def look():
        claims = cloud.claims()
        return claims if {claims[uuid]["state"] for uuid in ids} == {"confirmed"} else None

    return wait_until(look, "confirmed claims")


def test_a_build_under_way_is_confirmed_and_counted(cloud):
    with cloud.faults({"step": "spawn", "host": PLAIN, "delay": 4}):
        ids = boot_on(cloud, PLAIN, count=3)
        wait_until(lambda: cloud.hosts()[PLAIN].io_operations == 3, "three builds under way")
        confirmed(cloud, ids)
        assert {cloud.show(uuid)["status"] for uuid in ids} == {"BUILD"}
    cloud.wait(ids, "ACTIVE")
    wait_until(lambda: cloud.hosts()[PLAIN].io_operations == 0, "nothing under way")


def test_failed_builds_are_counted_until_one_succeeds(cloud):
    with cloud.faults({"step": "spawn", "host": PLAIN, "kind": "reschedulable"}):
        for _ in range(2):
            cloud.wait(boot_on(cloud, PLAIN), "ERROR")
        wait_until(lambda: cloud.hosts()[PLAIN].failed_builds == 2, "two builds failed")
    cloud.wait(boot_on(cloud, PLAIN), "ACTIVE")
    wait_until(lambda: cloud.hosts()[PLAIN].failed_builds == 0, "a build succeeded")


def test_a_host_that_starts_again_still_holds_what_it_held(cloud):
    ids = boot_on(cloud, PLAIN, count=2)
    cloud.wait(ids, "ACTIVE")
    before, seen = confirmed(cloud, ids), cloud.hosts()[PLAIN].reported_at
    with cloud.without(PLAIN):
        pass
    wait_until(lambda: cloud.hosts()[PLAIN].reported_at > seen, "a report after the start")
    after = {uuid: {**claim, "age": before[uuid]["age"]} for uuid, claim in cloud.claims().items()}
    assert after == before
    assert {before[uuid]["host"] for uuid in ids} == {PLAIN}


@pytest.mark.soak
def test_a_build_whose_host_is_away_gets_a_new_claim_when_its_claim_ran_out(cloud):
    with cloud.without(PLAIN):
        (uuid,) = boot_on(cloud, PLAIN)
        wait_until(lambda: uuid in cloud.claims(), "a claim")
        cloud.release_claim(uuid)  # as the schedulers do in the end
        wait_until(lambda: uuid in cloud.claims(), "a claim made anew")
    (server,) = cloud.wait([uuid], "ACTIVE")
    assert server["OS-EXT-SRV-ATTR:host"] == PLAIN
    assert confirmed(cloud, [uuid])[uuid]["host"] == PLAIN
