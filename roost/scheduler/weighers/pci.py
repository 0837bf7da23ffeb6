"""Devices: left to those who need them."""

from collections.abc import Hashable

import numpy as np

from roost.scheduler.columns import Columns, Floats
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weigher


class PciWeigher(Weigher):
    """Prefers hosts without devices for requests without any, and the other way round."""

    name = "pci"

    def key(self, request: Request) -> Hashable:
        return bool(request.spec.pci_requests)

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        wanted = hosts.has_pci if request.spec.pci_requests else ~hosts.has_pci
        return wanted.astype(np.float64)
