"""Weighers by free resources: spread instances, or with a negative multiplier pack them.

The PCI weigher keeps hosts with devices free for instances that need them.
"""

from collections.abc import Hashable

import numpy as np

from roost.scheduler.columns import Columns, Floats
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
