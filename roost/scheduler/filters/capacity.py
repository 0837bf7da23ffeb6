"""Room for what an instance takes."""

from collections.abc import Hashable

from roost.scheduler.columns import Columns
from roost.scheduler.filters import Filter, Miss, Refusal
from roost.scheduler.request import Request


class _CapacityFilter(Filter):
    """Refuses hosts with too little left of one resource. Who asks for none of it passes."""

    by_usage = True
    forceable = False
    resource: str
    reason: str
    unit: str

    def applies_to(self, request: Request) -> bool:
        return request.asked_of(self.resource) > 0

    def key(self, request: Request) -> Hashable:
        return request.asked_of(self.resource)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        short = hosts.free(self.resource) < request.asked_of(self.resource)
        return [Refusal(self.reason, short)]

    def closest(self, request: Request, hosts: Columns) -> Miss | None:
        free = hosts.free(self.resource)
        row = int(free.argmax())
        asked, left = request.asked_of(self.resource), max(0, int(free[row]))
        return Miss(row, f"{left} {self.unit} free of the {asked} asked")


class RamFilter(_CapacityFilter):
    name, resource, unit = "ram", "memory_mb", "MiB"
    reason = "not enough memory"


class CpuFilter(_CapacityFilter):
    name, resource, unit = "cpu", "vcpus", "CPUs"
    reason = "not enough CPUs"


class PcpuFilter(_CapacityFilter):
    name, resource, unit = "pcpu", "pcpus", "dedicated CPUs"
    reason = "not enough dedicated CPUs"


class DiskFilter(_CapacityFilter):
    name, resource, unit = "disk", "disk_gb", "GiB"
    reason = "not enough disk"
