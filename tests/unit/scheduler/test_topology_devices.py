"""Devices for instances, near their NUMA cells or anywhere; and what placements hold."""

import pytest

from roost.scheduler.topology import HeldTopology, fit
from tests.builders import a_numa_cell, a_numa_topology, a_pci_pool, a_pci_request
from tests.unit.scheduler.topology_builders import (
    GPU,
    PAIRS,
    a_host,
    host_cells,
    nodes_of,
    pinned,
    placed,
    two_cells,
)


def test_devices_are_given_once():
    host = a_host(pools=[a_pci_pool(count=2)])
    for _ in range(2):
        host = host.taking(placed(None, host, GPU))
    assert fit(None, [GPU], host) == "no device for alias gpu"


def test_a_host_that_knows_no_devices_has_none():
    assert fit(None, [GPU], None) == "no device for alias gpu"
    assert not two_cells().has_pci


def test_a_host_has_devices_even_when_all_are_in_use():
    host = a_host(pools=[a_pci_pool()])
    assert host.taking(placed(None, host, GPU)).has_pci
    assert not a_host(pools=[a_pci_pool(count=0)]).has_pci


@pytest.mark.parametrize(
    ("pool", "meant"),
    [
        ({}, True),
        ({"vendor_id": "10DE", "product_id": "1EB8"}, True),
        ({"product_id": "ffff"}, False),
        ({"vendor_id": "8086"}, False),
        ({"tags": {"physical_network": "a"}}, True),
        ({"dev_type": "type-VF"}, True),
        ({"dev_type": "type-PF"}, False),
    ],
)
def test_a_device_must_be_what_the_alias_says(pool, meant):
    held = fit(None, [GPU], a_host(pools=[a_pci_pool(**pool)]))
    assert isinstance(held, HeldTopology) == meant


def test_devices_are_named_as_their_host_names_them():
    held = placed(None, a_host(pools=[a_pci_pool(vendor_id="10DE")]), GPU)
    assert held.pci[0].vendor_id == "10DE"


@pytest.mark.parametrize("dev_type", ["type-PCI", "type-PF", "type-VF"])
def test_a_device_type_that_is_asked_for_is_given(dev_type):
    request = a_pci_request(specs=[{"vendor_id": "10de", "dev_type": dev_type}])
    pools = [a_pci_pool(dev_type=each) for each in ("type-PCI", "type-PF", "type-VF")]
    (given,) = placed(None, a_host(pools=pools), request).pci
    assert given.dev_type == dev_type


def test_tags_must_be_the_same():
    request = a_pci_request(specs=[{"vendor_id": "10de", "physical_network": "b"}])
    pools = [a_pci_pool(tags={"physical_network": name}) for name in "ab"]
    (given,) = placed(None, a_host(pools=pools), request).pci
    assert given.tags == {"physical_network": "b"}


def test_one_of_several_specs_will_do():
    request = a_pci_request(specs=[{"vendor_id": "8086"}, {"vendor_id": "10de"}])
    assert placed(None, a_host(pools=[a_pci_pool()]), request).pci


def test_devices_of_several_pools_add_up():
    pools = [a_pci_pool(numa_node=node) for node in (0, 1)]
    held = placed(None, a_host(pools=pools), a_pci_request(count=2))
    assert [(given.numa_node, given.count) for given in held.pci] == [(0, 1), (1, 1)]


def test_requests_make_room_for_each_other():
    pools = [a_pci_pool(product_id="a"), a_pci_pool(product_id="b")]
    either = a_pci_request(alias="either", specs=[{"vendor_id": "10de"}])
    only_a = a_pci_request(alias="only-a", specs=[{"product_id": "a"}])
    held = placed(None, a_host(pools=pools), either, only_a)
    assert [(d.alias, d.product_id) for d in held.pci] == [("either", "b"), ("only-a", "a")]


# Devices near to cells


@pytest.mark.parametrize(
    ("policy", "node", "cell"),
    [
        ("required", 1, 1),
        ("required", None, None),
        ("required", 7, None),
        ("legacy", 1, 1),
        ("legacy", None, 0),
        ("legacy", 7, None),
        ("preferred", 1, 1),
        ("preferred", None, 0),
        ("preferred", 7, 0),
        ("socket", 1, 1),
        ("socket", None, None),
        ("socket", 7, None),
    ],
)
def test_the_numa_policy_says_how_near_a_device_must_be(policy, node, cell):
    host = two_cells(a_pci_pool(numa_node=node))
    held = fit(pinned(1), [a_pci_request(numa_policy=policy)], host)
    if cell is None:
        assert held == "no device for alias gpu in the right NUMA cell"
    else:
        assert (host_cells(held), nodes_of(held)) == ([cell], [node])


def test_preferred_does_without_nearness_when_it_must():
    host = a_host(a_numa_cell(0), a_numa_cell(1, pcpus=[]), pools=[a_pci_pool(numa_node=1)])
    assert isinstance(fit(pinned(1), [a_pci_request(numa_policy="required")], host), str)
    held = placed(pinned(1), host, a_pci_request(numa_policy="preferred"))
    assert (host_cells(held), nodes_of(held)) == ([0], [1])


def test_a_socket_has_several_cells():
    cells = [a_numa_cell(0, pcpus=[], socket=0), a_numa_cell(1, socket=0), a_numa_cell(2, socket=1)]
    host = a_host(*cells, pools=[a_pci_pool(numa_node=0)])
    held = placed(pinned(1), host, a_pci_request(numa_policy="socket"))
    assert (host_cells(held), nodes_of(held)) == ([1], [0])
    assert isinstance(fit(pinned(1), [a_pci_request(numa_policy="required")], host), str)


def test_a_device_near_any_of_the_cells_is_near():
    host = two_cells(a_pci_pool(numa_node=1, count=2))
    held = placed(pinned(2, 2), host, a_pci_request(count=2, numa_policy="required"))
    assert nodes_of(held) == [1]


def test_devices_of_all_the_instances_cells_add_up():
    cells = [a_numa_cell(number) for number in range(3)]
    pools = [a_pci_pool(numa_node=node) for node in (0, 2)]
    request = a_pci_request(count=2, numa_policy="required")
    assert sorted(host_cells(placed(pinned(1, 1), a_host(*cells, pools=pools), request))) == [0, 2]
    assert isinstance(fit(pinned(1), [request], a_host(*cells, pools=pools)), str)


def test_the_cell_that_has_the_device_is_used_even_by_another_cell_than_first():
    small = a_numa_cell(1, pcpus=[4], memory_mb=512)
    host = a_host(a_numa_cell(0), small, a_numa_cell(2), pools=[a_pci_pool(numa_node=1)])
    asked = a_numa_topology({"pcpus": [0, 1]}, {"pcpus": [2], "memory_mb": 512})
    assert host_cells(placed(asked, host, GPU)) == [0, 1]


def test_a_device_near_a_full_cell_is_out_of_reach():
    host = a_host(a_numa_cell(0), a_numa_cell(1, pcpus=[4]), pools=[a_pci_pool(numa_node=1)])
    assert fit(pinned(2), [GPU], host) == "no device for alias gpu in the right NUMA cell"


def test_without_cells_any_device_will_do():
    host = two_cells(a_pci_pool(numa_node=1))
    assert nodes_of(placed(None, host, a_pci_request(numa_policy="required"))) == [1]


# What is held


def test_giving_back_undoes_taking():
    host = a_host(
        a_numa_cell(0, pcpus=list(range(8)), siblings=PAIRS, page_counts={"1048576": 1}),
        pools=[a_pci_pool(numa_node=0)],
    )
    held = placed(pinned(2, threads="isolate", page_size="large"), host, GPU)
    assert host.taking(held) != host
    assert host.taking(held).giving_back(held) == host


def test_what_the_host_does_not_have_any_more_does_no_harm():
    held = placed(pinned(1, 1), two_cells(a_pci_pool(numa_node=0)), GPU)
    shrunk = a_host(a_numa_cell(0, pcpus=[3]))
    assert shrunk.taking(held).giving_back(held) == shrunk
    assert isinstance(fit(pinned(1), [], shrunk.taking(held)), HeldTopology)


def test_devices_that_are_owed_are_not_made_up_for_elsewhere():
    host = a_host(pools=[a_pci_pool(numa_node=0), a_pci_pool(numa_node=1, count=2)])
    held = placed(None, host, GPU)
    owing = host.taking(held).taking(held)
    assert [(d.numa_node, d.count) for d in placed(None, owing, GPU).pci] == [(1, 1)]
    two_more = owing.giving_back(held)
    assert nodes_of(placed(None, two_more, GPU)) == [1]


def test_memory_that_is_owed_is_not_given_again():
    held = placed(pinned(1), two_cells())
    host = a_host(a_numa_cell(memory_mb=1024)).taking(held).taking(held)
    assert isinstance(fit(pinned(1), [], host), str)
    assert isinstance(fit(pinned(1), [], host.giving_back(held)), str)


def test_held_survives_its_json_and_its_objects():
    host = two_cells(a_pci_pool(numa_node=1, tags={"a": "b"}), page_counts={"1048576": 2})
    held = placed(pinned(2, 1, page_size="large"), host, GPU)
    assert HeldTopology.from_json(held.to_json()) == held
    assert HeldTopology.of(held.numa, held.pci) == held


@pytest.mark.parametrize("held", [HeldTopology(), placed(None, a_host(pools=[a_pci_pool()]), GPU)])
def test_held_may_lack_cells(held):
    assert held.numa is None
    assert HeldTopology.from_json(held.to_json()) == held
    assert HeldTopology.of(held.numa, held.pci) == held


def test_the_placement_says_again_what_was_asked():
    asked = pinned(2, page_size="any")
    numa = placed(asked, two_cells()).numa
    assert numa.cpu_policy == "dedicated"
    (was,), (cell,) = asked.cells, numa.cells
    assert (cell.id, cell.pcpus, cell.memory_mb, cell.page_size) == (0, [0, 1], 1024, "any")
    assert (was.host_cell, was.pinning) == (None, [])
