"""Exact CPUs and devices: which hosts are refused for them, and in which words."""

import pytest

from roost.scheduler.filters import HostFilter
from roost.scheduler.filters.capacity import (
    HardwareFilter,
    NUMATopologyFilter,
    PciPassthroughFilter,
)
from tests.builders import a_numa_cell, a_numa_topology, a_pci_pool, a_pci_request
from tests.unit.scheduler.host_builders import a_request, a_row, an_engine, filters_of, hosts_of

BOTH = (NUMATopologyFilter(), PciPassthroughFilter())
TWO_PINNED = a_numa_topology({"pcpus": [0, 1]}, cpu_policy="dedicated")
GPU = a_pci_request(numa_policy="required")
CELLS = [a_numa_cell(0), a_numa_cell(1, pcpus=[4])]


def said(each, request, row):
    assert each.applies_to(request)
    return each.why_not(request, hosts_of(row).one(0))


@pytest.mark.parametrize("each", BOTH, ids=lambda each: each.name)
def test_what_is_not_there_cannot_be_forced(each):
    assert not each.forceable


def test_a_host_with_room_in_one_cell_takes_it():
    request = a_request(numa_topology=TWO_PINNED)
    assert said(NUMATopologyFilter(), request, a_row(topology=(CELLS, []))) is None
    full = a_row(topology=(CELLS[1:], []))
    assert "too few dedicated CPUs" in said(NUMATopologyFilter(), request, full)


def test_a_host_without_the_device_is_refused():
    request = a_request(pci_requests=[GPU])
    assert said(PciPassthroughFilter(), request, a_row()) == "no device for alias gpu"
    assert said(PciPassthroughFilter(), request, a_row(topology=([], [a_pci_pool()]))) is None


def test_a_device_far_from_the_cpus_is_told_from_a_missing_one():
    request = a_request(numa_topology=TWO_PINNED, pci_requests=[GPU])
    far = a_row(topology=(CELLS, [a_pci_pool(numa_node=1)]))
    assert said(PciPassthroughFilter(), request, far) is None
    reason = said(NUMATopologyFilter(), request, far)
    assert reason == "no device for alias gpu in the right NUMA cell"


def test_instances_of_one_request_get_cpus_of_their_own():
    hosts = hosts_of(a_row("h1", pcpus=4, topology=([a_numa_cell(0)], [])))
    engine = an_engine(filters_of("numa_topology", "pci_passthrough"))
    decision = engine.decide(a_request(count=2, numa_topology=TWO_PINNED), hosts)
    given = [chosen.held.numa.cells[0].pinning for chosen in decision.chosen]
    assert sorted(cpu for pinning in given for cpu in pinning) == [0, 1, 2, 3]
    assert hosts.topology[0].cells[0].free == 0


def test_hosts_without_the_hardware_are_refused_all_at_once_and_not_looked_at():
    class Costly(HostFilter):
        name = "costly"

        def __init__(self):
            self.asked = []

        def why_not(self, request, host):
            self.asked.append(host.host)

    rows = [
        a_row("plain"),
        a_row("cells", topology=(CELLS, [])),
        a_row("both", topology=(CELLS, [a_pci_pool()])),
    ]
    costly = Costly()
    asker = an_engine([HardwareFilter(), costly], [])
    verdicts = asker.judge(a_request(numa_topology=TWO_PINNED, pci_requests=[GPU]), hosts_of(*rows))
    assert verdicts[0].reasons == {"no NUMA cells": 1, "no PCI devices": 1}
    assert costly.asked == ["both"]
