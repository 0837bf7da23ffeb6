"""Devices for instances, near their NUMA cells or anywhere; and what placements hold."""

import pytest

from roost.scheduler.topology import HeldTopology, fit
from tests.builders import a_numa_cell, a_pci_pool, a_pci_request
from tests.unit.scheduler.topology_builders import (
    GPU,
    a_host,
    host_cells,
    nodes_of,
    pinned,
    placed,
    two_cells,
)


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


def test_tags_must_be_the_same():
    request = a_pci_request(specs=[{"vendor_id": "10de", "physical_network": "b"}])
    pools = [a_pci_pool(tags={"physical_network": name}) for name in "ab"]
    (given,) = placed(None, a_host(pools=pools), request).pci
    assert given.tags == {"physical_network": "b"}


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


# What is held


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


def test_the_placement_says_again_what_was_asked():
    asked = pinned(2, page_size="any")
    numa = placed(asked, two_cells()).numa
    assert numa.cpu_policy == "dedicated"
    (was,), (cell,) = asked.cells, numa.cells
    assert (cell.id, cell.pcpus, cell.memory_mb, cell.page_size) == (0, [0, 1], 1024, "any")
    assert (was.host_cell, was.pinning) == (None, [])
