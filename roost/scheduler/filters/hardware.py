"""Hosts without the hardware in question: all at once, before the costly question of places."""

from collections.abc import Hashable

import numpy as np

from roost.scheduler.columns import Columns, Mask
from roost.scheduler.filters import Filter, Refusal
from roost.scheduler.request import Request


class HardwareFilter(Filter):
    """Refuses hosts that have told of no NUMA cells, or of no devices, when some are asked for."""

    name = "hardware"
    forceable = False

    def applies_to(self, request: Request) -> bool:
        return request.wants_topology

    def key(self, request: Request) -> Hashable:
        return request.spec.numa_topology is not None, bool(request.spec.pci_requests)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        told = hosts.topology.tolist()
        refusals = []
        if request.spec.numa_topology is not None:
            without = [topology is None or not topology.cells for topology in told]
            refusals.append(Refusal("no NUMA cells", _mask(without)))
        if request.spec.pci_requests:
            without = [topology is None or not topology.has_pci for topology in told]
            refusals.append(Refusal("no PCI devices", _mask(without)))
        return refusals


def _mask(values: list[bool]) -> Mask:
    return np.array(values, dtype=np.bool_)
