"""Room that is left: spreads instances over hosts, or fills hosts up by a negative multiplier."""

from roost.scheduler.hosts import Hosts, Ints
from roost.scheduler.request import Request


class _CapacityWeigher:
    """The more is left of a resource, the better."""

    name: str
    resource: str

    def weigh(self, request: Request, hosts: Hosts) -> Ints:
        return hosts.free(self.resource)


class RamWeigher(_CapacityWeigher):
    name, resource = "ram", "memory_mb"


class CpuWeigher(_CapacityWeigher):
    name, resource = "cpu", "vcpus"


class DiskWeigher(_CapacityWeigher):
    name, resource = "disk", "disk_gb"
