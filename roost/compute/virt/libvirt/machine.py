"""Features of a guest's machine other than CPUs, memory and ordinary devices."""

import dataclasses
import xml.etree.ElementTree as ET
from typing import Final, Self

from roost.compute.virt.libvirt.cpus import KVM, CpuModel
from roost.compute.virt.libvirt.elements import element
from roost.hardware.properties import HardwareProperties
from roost.hardware.values import HIDING, agreed, agreed_number, agreed_truth, flagged

_INTEL: Final = "intel"  # the model with the widest support
_AUTO: Final = "auto"
_HYPERVISOR: Final = "hypervisor"  # the CPU feature by which systems detect one


@dataclasses.dataclass(frozen=True)
class GuestMachine:
    """Machine features; None: QEMU's default.

    ``hidden``: the guest cannot detect the hypervisor. ``iommu`` is the model of its IOMMU.
    ``address_mode`` and ``address_bits`` say how many bits physical addresses have.
    """

    hidden: bool = False
    pmu: bool | None = None
    hpet: bool | None = None
    iommu: str | None = None
    address_mode: str | None = None
    address_bits: int | None = None

    @classmethod
    def of(cls, properties: HardwareProperties) -> Self:
        """Read what flavor and image request.

        :raises roost.exception.Invalid: for unknown or contradictory values
        """
        iommu = agreed(properties, "viommu_model")
        return cls(
            hidden=any(flagged(properties, name) for name in HIDING),
            pmu=agreed_truth(properties, "pmu"),
            hpet=flagged(properties, "hw_time_hpet"),
            iommu=_INTEL if iommu == _AUTO else iommu,
            address_mode=agreed(properties, "maxphysaddr_mode"),
            address_bits=agreed_number(properties, "maxphysaddr_bits"),
        )

    def features(self, virt_type: str) -> list[ET.Element]:
        """Return children of the ``features`` element; a hidden KVM does not identify itself."""
        found = []
        if self.hidden and virt_type == KVM:
            found.append(element("kvm", element("hidden", state="on")))
        if self.pmu is not None:
            found.append(element("pmu", state="on" if self.pmu else "off"))
        if self.iommu == _INTEL:
            found.append(element("ioapic", driver="qemu"))  # so that it remaps interrupts
        return found

    def cpu(self, model: CpuModel, virt_type: str) -> CpuModel:
        """Return the CPU model adapted to the machine; a hidden emulator is not named by it."""
        if self.hidden and virt_type != KVM:
            return model.named().with_feature(_HYPERVISOR, has=False)
        return model if self.address_mode is None else model.named()

    def addresses(self) -> ET.Element | None:
        """Return the size of physical addresses; None: that of the CPU."""
        if self.address_mode is None:
            return None
        made = element("maxphysaddr", mode=self.address_mode)
        if self.address_bits is not None:
            made.set("bits", str(self.address_bits))
        return made

    def clock(self) -> ET.Element:
        timer = None
        if self.hpet is not None:
            timer = element("timer", name="hpet", present="yes" if self.hpet else "no")
        return element("clock", timer, offset="utc")

    def devices(self) -> list[ET.Element]:
        """Return the IOMMU; Intel's also remaps interrupts and serves QEMU's devices."""
        if self.iommu is None:
            return []
        if self.iommu != _INTEL:
            return [element("iommu", model=self.iommu)]
        driver = element("driver", intremap="on", caching_mode="on", iotlb="on")
        return [element("iommu", driver, model=_INTEL)]
