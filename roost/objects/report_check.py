"""What a host may report: hosts check it before they send it, and schedulers before they store it.

Every scheduler reads what is stored of every host. So what cannot be counted, compared or shown is
refused here: it takes its own host out, and no other.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import Final

from roost import exception
from roost.objects.allocations import Allocations
from roost.objects.bounds import CPUS, LONGEST, MOST, is_amount, wrong_value
from roost.objects.host import HostReport
from roost.objects.inventory import (
    ResourceInventory,
    ResourceProvider,
    incomplete,
    orphans_among,
    twice,
)
from roost.objects.topology import InstanceResources, NUMACell, PciPool

_LONG: Final = {"cpu_info": 2**16, "capabilities": 2**12}
_UUID: Final = 36  # characters
_AVERAGES: Final = 3
_PROVIDERS: Final = 1000
# These have rules of their own, below or where they are used.
_OTHERS: Final = {
    *("enabled_version", "generation", "inventories", "providers", "holdings"),
    *("instance_resources", "instances", "numa_cells", "pci_pools"),
}


def check(report: HostReport) -> None:
    """Make sure that a report may be stored.

    :raises roost.exception.Invalid: naming the host and what is wrong
    """
    found = complaint(report)
    if found is not None:
        raise exception.Invalid(
            f"the report of the host {report.host[:LONGEST]}, node {report.node[:LONGEST]}, is"
            f" refused: {found}"
        )


def complaint(report: HostReport) -> str | None:
    """Return what is wrong with a report; None: nothing."""
    return (
        incomplete(report, HostReport)
        or _wrong_values(report)
        or _wrong_inventories(report.inventories)
        or _wrong_providers(report.providers)
        or wrong_numa_cells(report.numa_cells)
        or wrong_pci_pools(report.pci_pools)
        or _wrong_uuids(report.instances)
        or wrong_holdings(report.holdings, report.instance_resources)
    )


def wrong_numa_cells(cells: Iterable[NUMACell]) -> str | None:
    """Return what is wrong with NUMA cells; None: nothing."""
    for cell in cells:
        wrong = wrong_value(cell) or _wrong_cell(cell)
        if wrong is not None:
            return f"NUMA cell {cell.id}: {wrong}"
    return None


def wrong_pci_pools(pools: Iterable[PciPool]) -> str | None:
    """Return what is wrong with pools of PCI devices; None: nothing."""
    for pool in pools:
        wrong = wrong_value(pool)
        if not 0 <= pool.count < CPUS:
            wrong = wrong or f"the count of a pool of PCI devices is below {CPUS}"
        if wrong is not None:
            return wrong
    return None


def wrong_holdings(
    holdings: Mapping[str, Allocations], instance_resources: Iterable[InstanceResources]
) -> str | None:
    """Return what is wrong with what instances hold; None: nothing."""
    wrong = _wrong_uuids(holdings)
    if wrong is not None:
        return f"holdings: {wrong}"
    for uuid, allocations in holdings.items():
        for provider, amounts in allocations.items():
            names = (provider, *amounts)
            if max(map(len, names)) > LONGEST or not all(map(is_amount, amounts.values())):
                return f"holdings: the amounts of {uuid} are from 0 to {MOST}, by class"
    for resources in instance_resources:
        wrong = wrong_value(resources) or _wrong_resources(resources)
        if wrong is not None:
            return f"instance_resources: {resources.instance_uuid[:_UUID]}: {wrong}"
    return None


def _wrong_values(report: HostReport) -> str | None:
    for name, value in report.values().items():
        if name in _OTHERS:
            continue
        wrong = wrong_value(value, longest=_LONG.get(name, LONGEST))
        if isinstance(value, int) and value < 0:
            wrong = wrong or "it is negative"
        if wrong is not None:
            return f"{name}: {wrong}"
    if len(report.load_average) > _AVERAGES:
        return f"load_average: there are more than {_AVERAGES}"
    return None


def _wrong_providers(providers: list[ResourceProvider]) -> str | None:
    """Return what is wrong with the parts of a host; None: nothing.

    Names of classes and traits may be of a newer release: schedulers do not have to know them.
    """
    if len(providers) > _PROVIDERS:
        return f"there are more than {_PROVIDERS} providers"
    names = {""}
    for one in providers:
        wrong = _wrong_inventories(one.inventories) or wrong_value(one)
        if wrong is not None:
            return f"the provider {one.name[:LONGEST]}: {wrong}"
        if one.name in names:
            return f"two providers are named {one.name!r}, or one like the host"
        names.add(one.name)
    orphans = orphans_among(providers)
    return f"the parent of {min(orphans)} is no provider of the host" if orphans else None


def _wrong_inventories(inventories: list[ResourceInventory]) -> str | None:
    for one in inventories:
        wrong = incomplete(one, ResourceInventory) or one.complaint() or wrong_value(one)
        if wrong is not None:
            return wrong
    return twice(inventories)


def _wrong_uuids(uuids: Iterable[str]) -> str | None:
    if all(len(uuid) <= _UUID for uuid in uuids):
        return None
    return f"the uuid of an instance has {_UUID} characters at most"


def _wrong_resources(resources: InstanceResources) -> str | None:
    if any(devices.count < 0 for devices in resources.pci):
        return "it cannot hold a negative number of devices"
    for cell in resources.numa_topology.cells if resources.numa_topology else ():
        if cell.memory_mb < 0 or (cell.page_kb is not None and cell.page_kb < 1):
            return "its memory, or the size of its pages, is negative"
        wrong = _wrong_cpus([*cell.cpus, *cell.pcpus, *cell.pinning])
        if wrong is not None:
            return wrong
    return None


def _wrong_cell(cell: NUMACell) -> str | None:
    pages = cell.page_counts.items()
    if not all(size.isdecimal() and int(size) and is_amount(many) for size, many in pages):
        return "page_counts are numbers of pages by size in KiB"
    if cell.memory_mb < 0:
        return "memory_mb is negative"
    return _wrong_cpus(itertools.chain(cell.cpus, cell.pcpus, *cell.siblings))


def _wrong_cpus(cpus: Iterable[int]) -> str | None:
    return None if all(0 <= cpu < CPUS for cpu in cpus) else f"CPUs are from 0 to {CPUS - 1}"
