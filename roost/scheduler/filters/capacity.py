"""Filters by free resources: memory, CPUs, disk, NUMA cells, PCI devices.

:class:`HardwareFilter` refuses all hosts without the hardware at once, before the last two filters
try exact allocations, which is costly, on one host at a time.
"""

from collections.abc import Hashable

import numpy as np

from roost.scheduler.columns import Columns, HostView, Mask
from roost.scheduler.filters import Filter, HostFilter, Miss, Refusal
from roost.scheduler.request import Request
from roost.scheduler.topology import fit


class _CapacityFilter(Filter):
    """Refuses hosts with too little free of one class; does not apply to requests for none."""

    by_usage = True
    forceable = False
    resource_class: str
    reason: str
    unit: str

    def applies_to(self, request: Request) -> bool:
        return request.asked_of(self.resource_class) > 0

    def key(self, request: Request) -> Hashable:
        return request.asked_of(self.resource_class)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        asked = request.asked_of(self.resource_class)
        short = hosts.free(self.resource_class) < asked
        return [Refusal(self.reason, short), *not_allowed(self.resource_class, asked, hosts)]

    def closest(self, request: Request, hosts: Columns) -> Miss | None:
        free = hosts.free(self.resource_class)
        row = int(free.argmax())
        asked, left = request.asked_of(self.resource_class), max(0, int(free[row]))
        if left >= asked:
            return Miss(row, f"not {asked} {self.unit} for one server")
        return Miss(row, f"{left} {self.unit} free of the {asked} requested")


def not_allowed(resource_class: str, amount: int, hosts: Columns) -> list[Refusal]:
    """Return the refusal by hosts whose inventory never gives one server so much, if there are."""
    if not hosts.shared.restricts(resource_class, amount):
        return []
    refused = ~hosts.by_inventory(lambda inventory: inventory.allows(resource_class, amount))
    return [Refusal(f"{amount} {resource_class} at once are not allowed", refused)]


class RamFilter(_CapacityFilter):
    name, resource_class, unit = "ram", "MEMORY_MB", "MiB"
    reason = "not enough memory"


class CpuFilter(_CapacityFilter):
    name, resource_class, unit = "cpu", "VCPU", "CPUs"
    reason = "not enough CPUs"


class PcpuFilter(_CapacityFilter):
    name, resource_class, unit = "pcpu", "PCPU", "dedicated CPUs"
    reason = "not enough dedicated CPUs"


class DiskFilter(_CapacityFilter):
    name, resource_class, unit = "disk", "DISK_GB", "GiB"
    reason = "not enough disk"


class HardwareFilter(Filter):
    """Refuses hosts that report no NUMA cells, or no devices, when the request needs some."""

    name = "hardware"
    forceable = False

    def applies_to(self, request: Request) -> bool:
        return request.wants_topology

    def key(self, request: Request) -> Hashable:
        return request.spec.numa_topology is not None, bool(request.spec.pci_requests)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        topologies = hosts.topology.tolist()
        refusals = []
        if request.spec.numa_topology is not None:
            without = [topology is None or not topology.cells for topology in topologies]
            refusals.append(Refusal("no NUMA cells", _mask(without)))
        if request.spec.pci_requests:
            without = [topology is None or not topology.has_pci for topology in topologies]
            refusals.append(Refusal("no PCI devices", _mask(without)))
        return refusals


def _mask(values: list[bool]) -> Mask:
    return np.array(values, dtype=np.bool_)


class NUMATopologyFilter(HostFilter):
    """Refuses hosts on whose NUMA cells those of the instance do not fit."""

    name = "numa_topology"
    forceable = False

    def applies_to(self, request: Request) -> bool:
        return request.spec.numa_topology is not None

    def why_not(self, request: Request, host: HostView) -> str | None:
        spec = request.spec
        found = fit(spec.numa_topology, spec.pci_requests, host.topology)
        return found if isinstance(found, str) else None


class PciPassthroughFilter(HostFilter):
    """Refuses hosts that have too few of the requested devices."""

    name = "pci_passthrough"
    forceable = False

    def applies_to(self, request: Request) -> bool:
        return bool(request.spec.pci_requests)

    def why_not(self, request: Request, host: HostView) -> str | None:
        found = fit(None, request.spec.pci_requests, host.topology)
        return found if isinstance(found, str) else None
