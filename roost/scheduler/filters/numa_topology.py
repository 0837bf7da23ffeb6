"""NUMA cells: exact CPUs, memory and pages, with the devices near them."""

from roost.scheduler.columns import HostView
from roost.scheduler.filters import HostFilter
from roost.scheduler.request import Request
from roost.scheduler.topology import fit


class NUMATopologyFilter(HostFilter):
    """Refuses hosts whose NUMA cells have no place for those of the instance."""

    name = "numa_topology"
    forceable = False

    def applies_to(self, request: Request) -> bool:
        return request.spec.numa_topology is not None

    def why_not(self, request: Request, host: HostView) -> str | None:
        spec = request.spec
        found = fit(spec.numa_topology, spec.pci_requests, host.topology)
        return found if isinstance(found, str) else None
