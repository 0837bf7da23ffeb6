"""Pretended inventories: by host, from a file, with a clear word about what is wrong."""

import json

import pytest

from roost import conf, exception
from roost.compute.host import load_virt
from roost.compute.virt.fake import inventory
from roost.objects import NUMACell, PciPool

CELLS = [
    {"id": 0, "cpus": [0, 1], "pcpus": [2, 3], "memory_mb": 4096, "page_counts": {"2048": 8}},
    {"id": 1, "cpus": [4], "pcpus": [5, 6, 7], "memory_mb": 2048, "siblings": [[5, 6]]},
]
SIZES = {"vcpus": 64, "memory_mb": 1000, "disk_gb": 100}

LICENSE = {"resource_class": "CUSTOM_LICENSE", "total": 2, "max_unit": 1}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "inventory.json"


@pytest.fixture
def resources(file):
    def resources(host, **entries):
        file.write_text(json.dumps({name.replace("_", "*"): v for name, v in entries.items()}))
        return inventory.read(file, host=host).resources(host, **SIZES)

    return resources


def test_without_a_file_a_host_has_what_the_options_say():
    has = inventory.read(None, host="h1").resources("h1", **SIZES)
    assert (has.node, has.vcpus, has.memory_mb, has.disk_gb) == ("h1", 64, 1000, 100)
    assert (has.hypervisor_type, has.hypervisor_version) == ("fake", 1)
    assert (has.pcpus, has.numa_cells, has.labels) == (0, (), ())


def test_a_host_pretends_what_its_entry_says(resources):
    entry = {
        "vcpus": 3,
        "pcpus": 2,
        "memory_mb": 333,
        "disk_gb": 33,
        "hypervisor_type": "QEMU",
        "hypervisor_version": 6002000,
        "architectures": ["aarch64"],
        "capabilities": {"a:b": "c"},
        "traits": ["CUSTOM_GOLD"],
        "labels": ["rack7"],
    }
    has = resources("h1", h1=entry, h2={})
    for name, value in entry.items():
        assert getattr(has, name) == (tuple(value) if isinstance(value, list) else value), name


def test_cells_and_devices_become_what_is_reported_of_them(resources):
    pool = {"vendor_id": "8086", "product_id": "1520", "numa_node": 1, "count": 4}
    has = resources("h1", h1={"numa_cells": CELLS, "pci_pools": [pool]})
    assert has.numa_cells == tuple(NUMACell.of(**cell) for cell in CELLS)
    assert has.pci_pools == (PciPool.of(**pool),)


def test_hosts_that_are_not_named_have_an_entry_of_their_own(resources):
    entries = {"h1": {"vcpus": 1}, "_": {"vcpus": 7}}
    assert resources("h2", **entries).vcpus == 7
    assert resources("h1", **entries).vcpus == 1
    assert resources("h2", h1={"vcpus": 1}).vcpus == 64


def test_a_host_has_parts_with_inventories_and_traits(resources):
    vgpus = {"resource_class": "VGPU", "total": 2, "max_unit": 1}
    gpu = {"name": "gpu0", "parent": "NUMA0", "traits": ["CUSTOM_FAST"], "inventories": [vgpus]}
    numa, found = resources("h1", h1={"providers": [{"name": "NUMA0"}, gpu]}).providers
    assert (numa.parent, found.parent, found.traits) == ("", "NUMA0", ["CUSTOM_FAST"])
    assert [(one.resource_class, one.total) for one in found.inventories] == [("VGPU", 2)]


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([], "the file: [] is not of type 'object'"),
        ({"h1": {"vcpu": 1}}, "h1: Additional properties are not allowed ('vcpu'"),
        ({"h1": {"vcpus": "many"}}, "h1.vcpus: 'many' is not of type 'integer'"),
        ({"h2": {"labels": "rack"}}, "h2.labels: 'rack' is not of type 'array'"),
        ({"h1": {"numa_cells": [{"id": 0}]}}, "h1.numa_cells[0]: 'cpus' is a required property"),
        (
            {"h1": {"numa_cells": [CELLS[0], CELLS[1] | {"pcpus": [-1]}]}},
            "h1.numa_cells[1].pcpus[0]: -1 is less than the minimum of 0",
        ),
        ({"*": {"pci_pools": [{"vendor_id": "8086"}]}}, "*.pci_pools[0]: 'product_id' is"),
        ({"h1": {"load_average": [1, 2]}}, "h1.load_average: [1, 2] is too short"),
        ({"h1": {"booted_at": "soon"}}, "h1.booted_at: Invalid isoformat string: 'soon'"),
        ({"h1": {"inventories": [LICENSE | {"total": -1}]}}, "h1.inventories[0].total: -1 is"),
        ({"h1": {"inventories": [LICENSE | {"resource_class": "L"}]}}, "h1: 'L' is no resource"),
        (
            {"h1": {"providers": [{"name": "gpu0", "parent": "NUMA0"}]}},
            "h1: the provider gpu0 has the unknown parent NUMA0",
        ),
        ({"h1": {"metrics": {"heat": "hot"}}}, "h1.metrics.heat: 'hot' is not of type 'number'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_meant_is_refused_naming_file_and_key(file, entries, told):
    file.write_text(json.dumps(entries))
    with pytest.raises(exception.Invalid) as refused:
        inventory.read(file, host="h1")
    assert refused.value.message.startswith(f"inventory file {file}: {told}")


def test_the_fake_driver_reads_it_when_it_is_made(file, tmp_path):
    file.write_text(json.dumps({"h1": {"memory_mb": 777, "metrics": {"heat": 21.5}}}))
    options = {
        "DEFAULT": {"host": "h1", "state_path": str(tmp_path)},
        "fake_driver": {"inventory_file": str(file), "vcpus": 9},
    }
    driver = load_virt(conf.of(options))
    assert (driver.resources().memory_mb, driver.resources().vcpus) == (777, 9)
    assert driver.collectors()["metrics"].collect().metrics == {"heat": 21.5}
