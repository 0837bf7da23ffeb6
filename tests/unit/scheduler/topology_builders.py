"""Hosts with NUMA cells and devices, and what instances ask of them."""

from roost.scheduler.topology import HeldTopology, HostTopology, fit
from tests.builders import a_numa_cell, a_numa_topology, a_pci_request

PAIRS = [[0, 4], [1, 5], [2, 6], [3, 7]]  # four cores of two threads
GPU = a_pci_request()


def a_host(*cells, pools=()):
    return HostTopology.of(cells, pools)


def two_cells(*pools, **values):
    return a_host(a_numa_cell(0, **values), a_numa_cell(1, **values), pools=pools)


def threaded(**values):
    """One cell of four cores with two threads each."""
    return a_host(a_numa_cell(**{"pcpus": list(range(8)), "siblings": PAIRS} | values))


def pinned(*counts, threads="prefer", **values):
    """Ask for cells with so many dedicated CPUs each."""
    cells, first = [], 0
    for count in counts:
        cells.append({"pcpus": list(range(first, first + count))} | values)
        first += count
    return a_numa_topology(*cells, cpu_policy="dedicated", cpu_thread_policy=threads)


def floating(*counts, **values):
    cells = [{"cpus": list(range(count))} | values for count in counts]
    return a_numa_topology(*cells)


def cpus_of(held):
    return [cell.pinning for cell in held.numa.cells]


def host_cells(held):
    return [cell.host_cell for cell in held.numa.cells]


def placed(numa, host, *pci):
    held = fit(numa, pci, host)
    assert isinstance(held, HeldTopology), held
    return held


def nodes_of(held):
    return [devices.numa_node for devices in held.pci]
