"""Weighers by free resources: spread instances, or with a negative multiplier pack them.

Two keep hosts free for instances that need what only some have: PCI devices, resource classes.
"""

from collections.abc import Hashable
from typing import Final

import numpy as np

from roost.objects.inventory import HOST_CLASSES
from roost.scheduler.columns import Columns, Floats
from roost.scheduler.inventory import HostInventory
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weigher


class _CapacityWeigher(Weigher):
    """Prefers hosts with more free of a resource: as a share of the largest host's capacity."""

    by_usage = True
    resource_class: str

    def key(self, request: Request) -> Hashable:
        return None

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        largest = hosts.largest(self.resource_class)
        if not largest:
            return np.zeros(len(hosts))
        return np.multiply(hosts.free(self.resource_class), 1.0 / largest, dtype=np.float64)


class RamWeigher(_CapacityWeigher):
    name, resource_class = "ram", "MEMORY_MB"


class CpuWeigher(_CapacityWeigher):
    name, resource_class = "cpu", "VCPU"


class DiskWeigher(_CapacityWeigher):
    name, resource_class = "disk", "DISK_GB"


class PciWeigher(Weigher):
    """Prefers hosts without devices for requests without any, and hosts with devices for others."""

    name = "pci"

    def key(self, request: Request) -> Hashable:
        return bool(request.spec.pci_requests)

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        wanted = hosts.has_pci if request.spec.pci_requests else ~hosts.has_pci
        return wanted.astype(np.float64)


_OF_EVERY_HOST: Final = frozenset(HOST_CLASSES)


class ResourceClassesWeigher(Weigher):
    """Prefers hosts that have no resource classes but those that the request names.

    Each other class, of the host or of its parts, counts alike: with none the weight is 1, with one
    0.5, with two a third. So hosts with GPUs or licences are left to those who ask for them.
    """

    name = "resource_classes"

    def key(self, request: Request) -> Hashable:
        return frozenset(request.resources.classes)

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        asked = _OF_EVERY_HOST.union(request.resources.classes)

        def spared(inventory: HostInventory) -> float:
            return 1 / (1 + len(_classes_of(inventory) - asked))

        found = hosts.shared.inventories.map(hosts.inventory, spared, kind=np.float64)
        return found.astype(np.float64, copy=False)


def _classes_of(inventory: HostInventory) -> set[str]:
    """Return the classes of which a host, or a part of it, has any."""
    own = {name for name, one in inventory.classes.items() if one.capacity}
    of_parts = (part.stocks.items() for part in inventory.parts)
    return own.union(name for stocks in of_parts for name, stock in stocks if stock.free)
