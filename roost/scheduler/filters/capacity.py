"""Room for what an instance takes."""

from roost.scheduler.filters import Refusal
from roost.scheduler.hosts import Hosts
from roost.scheduler.request import Request


class _CapacityFilter:
    """Refuses hosts with too little left of one resource. Who asks for none of it passes."""

    name: str
    resource: str
    reason: str
    guards: tuple[str, ...]

    def applies_to(self, request: Request) -> bool:
        return request.asked_of(self.resource) > 0

    def refuse(self, request: Request, hosts: Hosts) -> list[Refusal]:
        short = hosts.free(self.resource) < request.asked_of(self.resource)
        return [Refusal(self.reason, short)]


class RamFilter(_CapacityFilter):
    name, resource, reason = "ram", "memory_mb", "not enough memory"
    guards = ("memory_mb",)


class CpuFilter(_CapacityFilter):
    name, resource, reason = "cpu", "vcpus", "not enough CPUs"
    guards = ("vcpus",)


class DiskFilter(_CapacityFilter):
    name, resource, reason = "disk", "disk_gb", "not enough disk"
    guards = ("disk_gb",)
