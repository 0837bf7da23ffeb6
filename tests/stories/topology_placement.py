"""Servers with NUMA cells, dedicated CPUs, devices and custom resources, told through HTTP.

The hosts have what ``INVENTORY`` and ``PROVIDERS`` say; a guest's file tells where it really is.
"""

import collections
import itertools
import json

import pytest
import requests

from tests.stories.boots import clean_slate  # noqa: F401 - after each of these, too
from tests.stories.cloud import wait_until

HOST = "OS-EXT-SRV-ATTR:host"
ALIASES = [{"name": "gpu", "vendor_id": "10de", "product_id": "1eb8", "numa_policy": "required"}]
DEDICATED = {"hw:cpu_policy": "dedicated"}
_names = itertools.count(1)


def _numa_cell(number):
    """Four cores of two threads: one shared, three dedicated."""
    cpus = [number * 8 + n for n in range(8)]
    return {
        "id": number,
        "cpus": cpus[:2],
        "pcpus": cpus[2:],
        "siblings": [cpus[n : n + 2] for n in range(0, 8, 2)],
        "memory_mb": 16384,
        "page_counts": {"2048": 1024},
    }


VGPUS = [{"resource_class": "VGPU", "total": 1, "max_unit": 1}]
INVENTORY = {
    "cell1-host1": {
        "numa_cells": [_numa_cell(0), _numa_cell(1)],
        "pci_pools": [{"vendor_id": "10DE", "product_id": "1EB8", "numa_node": 1, "count": 1}],
    },
    "cell1-host2": {
        "numa_cells": [_numa_cell(0), _numa_cell(1)],
        "providers": [
            {"name": "NUMA0"},
            {"name": "gpu0", "parent": "NUMA0", "inventories": VGPUS},
            {"name": "gpu1", "parent": "NUMA0", "traits": ["CUSTOM_FAST"], "inventories": VGPUS},
        ],
    },
}
PROVIDERS = """
meta: {schema_version: '1.0'}
providers:
  - identification: {name: cell1-host2}
    inventories:
      additional:
        - CUSTOM_LICENSE: {total: 2}
    traits:
      additional: [CUSTOM_LICENSED]
"""
PER_HOST = 12  # dedicated CPUs


@pytest.fixture
def boot(cloud):
    """Boot servers of a flavor with extra specs."""

    def make(specs, *, count=1, vcpus=2, ram=512):
        flavor = cloud.create_flavor(name=f"exact-{next(_names)}", vcpus=vcpus, ram=ram)
        path = f"{cloud.client.endpoint}/flavors/{flavor}/os-extra_specs"
        requests.post(path, json={"extra_specs": specs}, timeout=30).raise_for_status()
        return cloud.boot(count=count, flavorRef=flavor)

    return make


def guest(cloud, server):
    (path,) = cloud.plan.state.glob(f"var/{server[HOST]}/**/{server['id']}.json")
    return json.loads(path.read_text())


def pinned(cloud, server):
    """Host CPUs that a server has for itself."""
    return [cpu for cell in guest(cloud, server)["numa_cells"] for cpu in cell["pinning"].values()]


def fault(cloud, server_id):
    server = wait_until(
        lambda: [s for s in [cloud.show(server_id)] if s["status"] == "ERROR"], "an error"
    )
    return server[0]["fault"]["message"]


def test_dedicated_cpus_are_given_once_until_there_are_no_more(cloud, boot):
    servers = cloud.wait(boot(DEDICATED, count=PER_HOST, vcpus=2), "ACTIVE")
    given = collections.Counter(
        (server[HOST], cpu) for server in servers for cpu in pinned(cloud, server)
    )
    assert len(given) == 2 * PER_HOST
    assert set(given.values()) == {1}
    (late,) = boot(DEDICATED, vcpus=2)
    assert "No valid host was found" in fault(cloud, late)


def test_the_cpus_of_a_deleted_server_are_free_again(cloud, boot):
    servers = cloud.wait(boot(DEDICATED, count=4, vcpus=6), "ACTIVE")
    gone = servers[0]
    cloud.client.delete_server(gone["id"])
    cloud.wait_gone([gone["id"]])
    (server,) = cloud.wait(boot(DEDICATED, vcpus=6), "ACTIVE")
    assert server[HOST] == gone[HOST]


def test_each_numa_node_of_a_server_is_on_a_cell_of_its_own(cloud, boot):
    specs = DEDICATED | {"hw:numa_nodes": "2"}
    (server,) = cloud.wait(boot(specs, vcpus=4), "ACTIVE")
    cells = guest(cloud, server)["numa_cells"]
    assert sorted(cell["host_cell"] for cell in cells) == [0, 1]
    for cell in cells:
        assert all(cpu // 8 == cell["host_cell"] for cpu in cell["pinning"].values())


def test_a_device_comes_with_cpus_that_are_near_it(cloud, boot):
    specs = DEDICATED | {"pci_passthrough:alias": "gpu:1"}
    (server,) = cloud.wait(boot(specs), "ACTIVE")
    found = guest(cloud, server)
    assert server[HOST] == "cell1-host1"
    assert [device["numa_node"] for device in found["pci_devices"]] == [1]
    assert [cell["host_cell"] for cell in found["numa_cells"]] == [1]
    (late,) = boot({"pci_passthrough:alias": "gpu:1"})
    assert "no device for alias gpu" in fault(cloud, late)


def test_a_rescheduled_server_gets_cpus_of_its_new_host(cloud, boot):
    with cloud.faults({"step": "spawn", "host": "cell1-host1", "kind": "reschedulable"}):
        servers = cloud.wait(boot(DEDICATED, count=6, vcpus=2), "ACTIVE")
    assert {server[HOST] for server in servers} == {"cell1-host2"}
    given = [cpu for server in servers for cpu in pinned(cloud, server)]
    assert len(set(given)) == PER_HOST


def test_a_licence_is_counted_where_its_operator_has_written_it_down(cloud, boot):
    licensed = {"resources:CUSTOM_LICENSE": "1", "trait:CUSTOM_LICENSED": "required"}
    servers = cloud.wait(boot(licensed, count=2), "ACTIVE")
    assert {server[HOST] for server in servers} == {"cell1-host2"}
    (late,) = boot(licensed)
    assert "not enough CUSTOM_LICENSE" in fault(cloud, late)
    cloud.client.delete_server(servers[0]["id"])
    cloud.wait_gone([servers[0]["id"]])
    cloud.wait(boot(licensed), "ACTIVE")


def test_servers_get_virtual_gpus_and_one_too_many_learns_who_has_some(cloud, boot):
    fast = {"resources1:VGPU": "1", "trait1:CUSTOM_FAST": "required"}
    plain = {"resources:VGPU": "1"}
    (first,) = cloud.wait(boot(fast), "ACTIVE")
    (second,) = cloud.wait(boot(plain), "ACTIVE")
    assert guest(cloud, first)["allocations"] == {"gpu1": {"VGPU": 1}}
    assert guest(cloud, second)["allocations"] == {"gpu0": {"VGPU": 1}}
    (third,) = boot(plain)
    assert "2 hosts: no VGPU; 1: not enough VGPU" in fault(cloud, third)
    nearest = json.loads(cloud.show(third)["fault"]["details"])
    assert "cell1-host2" in json.dumps(nearest)
    assert "0 VGPU free of the 1 requested" in json.dumps(nearest)
    answer = requests.post(
        f"{cloud.client.endpoint}/servers/{first['id']}/action", json={"migrate": None}, timeout=30
    )
    assert answer.status_code == 400
    assert "a virtual GPU, which cannot be copied" in answer.text
    cloud.client.delete_server(second["id"])
    cloud.wait_gone([second["id"]])
    (late,) = cloud.wait(boot(plain), "ACTIVE")
    assert guest(cloud, late)["allocations"] == {"gpu0": {"VGPU": 1}}
