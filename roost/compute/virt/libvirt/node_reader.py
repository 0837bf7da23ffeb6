"""Reads what the node of the libvirt driver has, once and again: its collectors follow changes."""

import dataclasses
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any, Final

from roost.compute.collectors import Collected, DriverCollector
from roost.compute.virt.driver import HostResources
from roost.compute.virt.libvirt import cpu_monitor, node, pci, probe
from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.node import LibvirtNode
from roost.compute.virt.libvirt.settings import AUTO, LibvirtSettings
from roost.objects import NUMACell

_LOOK_AGAIN: Final = 60.0  # seconds between two looks at CPUs and memory, and at the disk


class NodeReader:
    """The node's description, read at its first use. Thread-safe.

    :param connection: returns the connection to libvirt
    :param begin: called once before the first look
    """

    def __init__(
        self,
        connection: Callable[[], Any],
        settings: LibvirtSettings,
        *,
        devices: pci.NodeDevices,
        begin: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._devices = devices
        self._begin = begin
        self._lock = threading.Lock()
        self._known: LibvirtNode | None = None
        self._cpu_monitor = cpu_monitor.CpuMonitor()
        self.booted_at = node.booted_at()

    def known(self) -> LibvirtNode:
        """Return what is known of the node."""
        with self._lock:
            if self._known is None:
                self._begin()
                self._known = self._read()
            return self._known

    def resources(self) -> HostResources:
        """Return what is known of the node, as the tracker needs it."""
        known = self.known()
        about = node.cpu_info(known.capabilities)
        return HostResources(
            node=self._settings.node,
            vcpus=known.vcpus,
            pcpus=known.pcpus,
            memory_mb=known.memory_mb,
            disk_gb=known.disk_gb,
            hypervisor_type=known.hypervisor_type,
            hypervisor_version=known.hypervisor_version,
            architectures=node.architectures(known.capabilities),
            capabilities=node.comparable(about),
            traits=known.traits,
            numa_cells=known.cells,
            pci_pools=known.pci_pools,
            cpu_info=about,
            booted_at=self.booted_at,
        )

    def collectors(self) -> dict[str, DriverCollector]:
        """Return those of the node, by name."""
        found = {
            "node": DriverCollector(self._collect_node, _LOOK_AGAIN),
            "disk": DriverCollector(self._collect_disk, _LOOK_AGAIN),
        }
        if self._settings.devices:
            found["pci"] = DriverCollector(self._devices.collect, self._devices.interval)
        if cpu_monitor.NAME in self._settings.monitors:
            found["cpu"] = DriverCollector(self._collect_metrics, cpu_monitor.INTERVAL)
        return found

    def _collect_node(self) -> Collected:
        """Look for CPUs and memory that came or went while the node runs."""
        known = self.known()
        described = self._connection().call(
            "describe its host", lambda opened: opened.getCapabilities()
        )
        memory_mb, cells = self._cells(parse(described))
        known = dataclasses.replace(known, memory_mb=memory_mb, cells=cells)
        with self._lock:
            self._known = known
        return Collected(
            vcpus=known.vcpus, pcpus=known.pcpus, memory_mb=memory_mb, numa_cells=cells
        )

    def _collect_disk(self) -> Collected:
        self.known()  # which creates the folder at first
        return Collected(disk_gb=node.disk_gb(self._settings.folder))

    def _collect_metrics(self) -> Collected:
        measure = self._cpu_monitor.measure
        return Collected(metrics=self._connection().call("read CPU statistics", measure))

    def _read(self) -> LibvirtNode:
        described, kind, version = self._connection().call(
            "describe its host",
            lambda opened: (opened.getCapabilities(), opened.getType(), opened.getVersion()),
        )
        capabilities = parse(described)
        memory_mb, cells = self._cells(capabilities)
        virt_type = self._settings.virt_type
        if virt_type == AUTO:
            virt_type = probe.find_virt_type(self._connection(), self._settings.folder)
        return LibvirtNode(
            capabilities=capabilities,
            hypervisor_type=kind,
            hypervisor_version=version,
            virt_type=virt_type,
            memory_mb=memory_mb,
            traits=(*node.traits(capabilities, virt_type=virt_type), *self._settings.traits),
            disk_gb=node.disk_gb(self._settings.folder),
            pci_pools=self._devices.collect().pci_pools or (),
            cells=cells,
        )

    def _cells(self, capabilities: ET.Element) -> tuple[int, tuple[NUMACell, ...]]:
        """Return the memory of the node, and its NUMA cells with the operator's CPU sets."""
        memory_mb = node.memory_mb()
        found = node.cells(capabilities, memory_mb=memory_mb)
        return memory_mb, self._settings.cpu_sets.divide(found)
