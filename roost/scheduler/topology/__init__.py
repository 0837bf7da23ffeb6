"""From what an instance asks of NUMA cells and PCI devices to an exact place on a host.

``HostTopology`` is what of a host is free, ``HeldTopology`` what an instance has of it
(``host.py``), and ``fit`` makes one from the other (``fitting.py``). ``numa.py`` is one NUMA cell,
``pci.py`` the devices. Filters, the engine and claims ask here.

Values only: nothing here reads or writes anything, and it imports ``objects`` and below.
"""

from roost.scheduler.topology.fitting import fit
from roost.scheduler.topology.host import HeldTopology, HostTopology

__all__ = ["HeldTopology", "HostTopology", "fit"]
