"""The libvirt domain of a guest: values that become one XML document."""

import dataclasses
import xml.etree.ElementTree as ET
from typing import Final

from roost.compute.virt.libvirt import mdevs, screen
from roost.compute.virt.libvirt.console import Console
from roost.compute.virt.libvirt.cpus import CpuModel, Topology
from roost.compute.virt.libvirt.devices import Balloon, agent_channel, pcie_slots
from roost.compute.virt.libvirt.disks import Disk, Drive
from roost.compute.virt.libvirt.elements import element
from roost.compute.virt.libvirt.firmware import DirectKernel
from roost.compute.virt.libvirt.hardware import Hardware
from roost.compute.virt.libvirt.identity import GuestIdentity, written
from roost.compute.virt.libvirt.interfaces import GuestInterface
from roost.compute.virt.libvirt.mdevs import MediatedDevice
from roost.compute.virt.libvirt.pci import Device
from roost.compute.virt.libvirt.server_metadata import InstanceElement, one_line
from roost.objects import consoles

# cloud-init detects OpenStack by this name.
_PRODUCT: Final = "OpenStack Compute"


@dataclasses.dataclass(frozen=True)
class Domain:
    """The definition of a guest for libvirt.

    ``slots`` are PCIe root ports, also for hot-plugged devices, on machines that have PCIe.
    """

    identity: GuestIdentity
    name: str
    server: InstanceElement
    vcpus: int
    memory_mb: int
    virt_type: str
    console: Console
    hardware: Hardware
    cpu: CpuModel = dataclasses.field(default_factory=CpuModel)
    topology: Topology = dataclasses.field(default_factory=Topology)
    disks: tuple[Disk, ...] = ()
    drive: Drive | None = None
    interfaces: tuple[GuestInterface, ...] = ()
    devices: tuple[Device | MediatedDevice, ...] = ()
    screens: tuple[str, ...] = (consoles.VNC,)
    balloon: Balloon = dataclasses.field(default_factory=Balloon)
    slots: int = 0
    kernel: DirectKernel | None = None

    def xml(self) -> str:
        return written(self._element())

    def _element(self) -> ET.Element:
        return element(
            "domain",
            element("name", text=self.name),
            element("uuid", text=self.identity.uuid),
            element("title", text=one_line(self.server.instance.display_name)),
            self._metadata(),
            element("memory", text=self.memory_mb, unit="MiB"),
            self.topology.vcpu(self.vcpus),
            self.topology.backing(),
            self._tuning(),
            self.topology.memory(),
            self._sysinfo(),
            self.hardware.firmware.element(self.kernel),
            self._features(),
            self._cpu(),
            self.hardware.machine.clock(),
            element("on_poweroff", text="destroy"),
            element("on_reboot", text="restart"),
            element("on_crash", text="destroy"),
            self._sleep(),
            self._devices(),
            type=self.virt_type,
        )

    def _metadata(self) -> ET.Element:
        identity = self.identity.with_notes(mdevs.notes_of(self.devices))
        return element("metadata", identity.element(), self.server.element())

    def _sysinfo(self) -> ET.Element:
        entries = {
            "manufacturer": "Roost",
            "product": _PRODUCT,
            "serial": self.identity.uuid,
            "uuid": self.identity.uuid,
            "family": "Virtual Machine",
        }
        fields = [element("entry", text=text, name=name) for name, text in entries.items()]
        return element("sysinfo", element("system", *fields), type="smbios")

    def _features(self) -> ET.Element:
        firmware, machine = self.hardware.firmware, self.hardware.machine
        return element("features", *firmware.features(), *machine.features(self.virt_type))

    def _cpu(self) -> ET.Element | None:
        machine, shape = self.hardware.machine, self.hardware.shape
        model = machine.cpu(self.cpu, self.virt_type)
        topology = None if shape is None else shape.element()
        return model.element(topology, machine.addresses(), self.topology.seen())

    def _tuning(self) -> ET.Element | None:
        found = [*self.hardware.tuning.of_cpus(), *self.topology.pins()]
        return element("cputune", *found) if found else None

    def _sleep(self) -> ET.Element:
        """Disable sleep states, from which no one would wake the guest."""
        return element(
            "pm",
            element("suspend-to-mem", enabled="no"),
            element("suspend-to-disk", enabled="no"),
        )

    def _devices(self) -> ET.Element:
        return element(
            "devices",
            *pcie_slots(self.slots if self.hardware.firmware.is_q35 else 0),
            *[disk.element() for disk in self.disks],
            None if self.drive is None else self.drive.element(),
            element("controller", type="scsi", index=0, model=self.hardware.scsi_model),
            *[interface.element() for interface in self.interfaces],
            *[device.element() for device in self.devices],
            *self.console.elements(self.hardware.serial_ports),
            *[screen.graphics(kind) for kind in self.screens],
            *self._extras(),
            self.balloon.element(),
        )

    def _extras(self) -> list[ET.Element]:
        """Return the optional devices that flavor and image request."""
        has = self.hardware
        singles = (has.rng, has.watchdog, has.tpm, has.video or screen.CARD, has.sound)
        found = [device.element() for device in singles if device is not None]
        found += [*has.usb.elements(), *has.machine.devices()]
        if has.agent:
            found.append(agent_channel())
        return [*found, *(has.inputs.elements() if has.inputs else ())]
