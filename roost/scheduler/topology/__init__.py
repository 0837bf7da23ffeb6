"""Fits the NUMA cells and PCI devices that an instance requests to those of a host.

``HostTopology`` is the free part of a host, ``HeldTopology`` the part that an instance has
(``host.py``), and ``fit`` finds the latter in the former (``fitting.py``). ``numa.py`` has one NUMA
cell, ``pci.py`` the devices. Filters, the engine and claims use it.

Pure functions without I/O; imports ``objects`` and below.
"""

from roost.hardware.providers import Allocator, FreeProvider
from roost.scheduler.topology.fitting import fit
from roost.scheduler.topology.host import HeldTopology, HostTopology

__all__ = ["Allocator", "FreeProvider", "HeldTopology", "HostTopology", "fit"]
