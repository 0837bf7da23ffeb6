"""PCI devices, wherever on the host they are; how near they must be is for numa_topology."""

from roost.scheduler.columns import HostView
from roost.scheduler.filters import HostFilter
from roost.scheduler.request import Request
from roost.scheduler.topology import fit


class PciPassthroughFilter(HostFilter):
    """Refuses hosts that have too few of the devices asked for."""

    name = "pci_passthrough"
    forceable = False

    def applies_to(self, request: Request) -> bool:
        return bool(request.spec.pci_requests)

    def why_not(self, request: Request, host: HostView) -> str | None:
        found = fit(None, request.spec.pci_requests, host.topology)
        return found if isinstance(found, str) else None
