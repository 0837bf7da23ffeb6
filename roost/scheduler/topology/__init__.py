"""From what an instance asks of NUMA cells and PCI devices to an exact place on a host.

``HostTopology`` is what of a host is free, ``Held`` what an instance has of it, and ``fit`` makes
one from the other. Values only: nothing here reads or writes anything.
"""

from roost.scheduler.topology.fitting import fit
from roost.scheduler.topology.host import HeldTopology, HostTopology

__all__ = ["HeldTopology", "HostTopology", "fit"]
