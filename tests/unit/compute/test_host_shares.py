"""What a host gives away to whom, where the scheduler has chosen limits, CPUs and devices."""

import dataclasses

import pytest

from roost import exception
from roost.compute.operations.build import Build, build_flow, carry_out
from tests.builders import (
    CELL1,
    a_context,
    a_flavor,
    a_numa_cell,
    a_pci_allocation,
    a_pci_pool,
    a_pinned_topology,
    a_selection,
    an_instance,
    taken,
)
from tests.operation_rows import a_build
from tests.unit.compute.conftest import RESOURCES, Rig

NUMA = dataclasses.replace(
    RESOURCES,
    pcpus=8,
    numa_cells=(a_numa_cell(0), a_numa_cell(1)),
    pci_pools=(a_pci_pool(count=2, numa_node=0), a_pci_pool(count=1, numa_node=1)),
)


@pytest.fixture
def rig(tmp_path):
    """A host of two NUMA cells, each with four CPUs to give away and a few devices."""
    made = Rig(tmp_path, resources=NUMA)
    made.tracker.locate(cell_uuid=CELL1)
    made.tracker.fill([])
    return made


def devices(count, *, numa_node=0):
    return a_pci_allocation(count=count, numa_node=numa_node)


def claim(rig, *, vcpus=2, **selected):
    instance = an_instance(flavor=a_flavor(vcpus=vcpus, memory_mb=64, root_gb=1))
    rig.tracker.claim(instance, a_selection("h1", **selected))
    return instance


def test_the_schedulers_limits_count_instead_of_the_hosts_own_ratios(rig):
    claim(rig, vcpus=9, limits={"VCPU": 10})
    with pytest.raises(exception.NoCapacity) as refused:
        claim(rig, vcpus=2, limits={"VCPU": 10})
    assert refused.value.details == {"resource": "vcpus", "asked": 2, "free": 1}


def test_pinned_cpus_are_counted_apart_from_those_that_are_shared(rig):
    instance = claim(rig, vcpus=3, numa_topology=a_pinned_topology(2, 3))
    report = rig.tracker.report()
    assert (
        report.amount("VCPU", "used"),
        report.amount("PCPU"),
        report.amount("PCPU", "used"),
    ) == (1, 8, 2)
    rig.tracker.built(instance.uuid)
    report = rig.tracker.report()
    assert report.holdings == {instance.uuid: taken(vcpus=1, pcpus=2, memory_mb=64, disk_gb=1)}
    (resources,) = report.instance_resources
    assert (resources.instance_uuid, resources.pci) == (instance.uuid, [])
    assert resources.numa_topology.cells[0].pinning == [2, 3]


def test_a_cpu_that_is_given_away_is_not_given_away_again(rig):
    first = claim(rig, numa_topology=a_pinned_topology(2, 3))
    with pytest.raises(exception.NoCapacity, match=r"h1 cannot dedicate CPU 3$"):
        claim(rig, numa_topology=a_pinned_topology(3, 4))
    rig.tracker.release(first.uuid)
    claim(rig, numa_topology=a_pinned_topology(3, 4))


def test_more_cpus_than_may_be_given_away_are_refused(rig):
    claim(rig, vcpus=4, numa_topology=a_pinned_topology(0, 1, 2, 3))
    with pytest.raises(exception.NoCapacity, match="dedicated CPUs: 2 requested, 1 free"):
        claim(rig, numa_topology=a_pinned_topology(4, 5, host_cell=1), limits={"PCPU": 5})


def test_devices_are_counted_by_kind_and_numa_node(rig):
    claim(rig, pci=[devices(1)])
    claim(rig, pci=[devices(1, numa_node=1)])
    with pytest.raises(exception.NoCapacity, match="devices 10de:1eb8: 2 requested, 1 free"):
        claim(rig, pci=[devices(2)])
    claim(rig, pci=[devices(1)])


def test_an_instance_that_claims_again_is_not_in_its_own_way(rig):
    instance = an_instance(flavor=a_flavor(vcpus=2))
    selection = a_selection("h1", numa_topology=a_pinned_topology(2, 3), pci=[devices(2)])
    rig.tracker.claim(instance, selection)
    rig.tracker.claim(instance, selection)


def test_what_is_given_away_stays_so_when_the_host_starts_again(rig):
    there = an_instance(numa_topology=a_pinned_topology(2, 3), pci=[devices(2)], vm_state="active")
    there.flavor.vcpus = 2
    rig.tracker.fill([there])
    with pytest.raises(exception.NoCapacity, match="CPU 3"):
        claim(rig, numa_topology=a_pinned_topology(3, 4))
    with pytest.raises(exception.NoCapacity, match="1 requested, 0 free"):
        claim(rig, pci=[devices(1)])


def test_the_guest_is_told_its_resources(rig):
    instance = rig.instance(flavor=a_flavor(vcpus=2), networks=[])
    selection = a_selection(
        "h1", numa_topology=a_pinned_topology(5, 6, host_cell=1), pci=[devices(2)]
    )
    carry_out(Build(rig.host, a_context(), a_build(instance), instance, selection), build_flow())
    guest = rig.virt.contents(instance.uuid)
    assert guest["numa_cells"] == [
        {
            "id": 0,
            "host_cell": 1,
            "memory_mb": 1024,
            "page_kb": None,
            "cpus": [],
            "pinning": {"0": 5, "1": 6},
        }
    ]
    assert guest["pci_devices"] == [
        {"vendor_id": "10de", "product_id": "1eb8", "numa_node": 0, "count": 2}
    ]


def test_a_message_without_a_selection_goes_by_the_row(rig):
    instance = rig.instance(
        flavor=a_flavor(vcpus=2),
        networks=[],
        numa_topology=a_pinned_topology(0, 1),
        pci=[devices(1)],
    )
    carry_out(Build(rig.host, a_context(), a_build(instance), instance), build_flow())
    guest = rig.virt.contents(instance.uuid)
    assert guest["numa_cells"][0]["pinning"] == {"0": 0, "1": 1}
    assert guest["pci_devices"][0]["count"] == 1
    assert rig.tracker.report().amount("PCPU", "used") == 2


def test_resources_that_are_taken_send_the_build_elsewhere(rig):
    claim(rig, numa_topology=a_pinned_topology(2, 3))
    instance = rig.instance(flavor=a_flavor(vcpus=2))
    selection = a_selection("h1", numa_topology=a_pinned_topology(2, 3))
    carry_out(Build(rig.host, a_context(), a_build(instance), instance, selection), build_flow())
    why = "h1 cannot dedicate CPU 2, 3"
    assert rig.conductor.rescheduled == [(instance.uuid, "h1", 1, why)]
    assert rig.virt.list_guests() == []
