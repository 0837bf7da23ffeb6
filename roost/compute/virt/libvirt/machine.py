"""What a guest finds of its machine, beside CPUs, memory and the devices that it uses."""

import dataclasses
import xml.etree.ElementTree as ET
from typing import Final, Self

from roost.compute.virt.libvirt.cpus import KVM, CpuModel
from roost.compute.virt.libvirt.elements import element
from roost.hardware.properties import HardwareProperties
from roost.hardware.values import HIDING, agreed, agreed_number, agreed_truth, flagged

_INTEL: Final = "intel"  # the one that most systems know
_AUTO: Final = "auto"
_HYPERVISOR: Final = "hypervisor"  # the feature of a CPU by which systems look for one


@dataclasses.dataclass(frozen=True)
class GuestMachine:
    """Where nothing is said (None), it is as QEMU makes it.

    ``hidden``: nothing says which hypervisor it is. ``iommu`` is the model of one that the guest
    has. ``address_mode`` and ``address_bits`` say how many bits physical addresses have.
    """

    hidden: bool = False
    pmu: bool | None = None
    hpet: bool | None = None
    iommu: str | None = None
    address_mode: str | None = None
    address_bits: int | None = None

    @classmethod
    def of(cls, words: HardwareProperties) -> Self:
        """Read what flavor and image say.

        :raises roost.exception.Invalid: for what is not known, or contradicts itself
        """
        iommu = agreed(words, "viommu_model")
        return cls(
            hidden=any(flagged(words, name) for name in HIDING),
            pmu=agreed_truth(words, "pmu"),
            hpet=flagged(words, "hw_time_hpet"),
            iommu=_INTEL if iommu == _AUTO else iommu,
            address_mode=agreed(words, "maxphysaddr_mode"),
            address_bits=agreed_number(words, "maxphysaddr_bits"),
        )

    def features(self, virt_type: str) -> list[ET.Element]:
        """Return what is said of the machine; a hidden KVM says nothing of itself."""
        found = []
        if self.hidden and virt_type == KVM:
            found.append(element("kvm", element("hidden", state="on")))
        if self.pmu is not None:
            found.append(element("pmu", state="on" if self.pmu else "off"))
        if self.iommu == _INTEL:
            found.append(element("ioapic", driver="qemu"))  # so that it remaps interrupts
        return found

    def cpu(self, model: CpuModel, virt_type: str) -> CpuModel:
        """Return the CPU with what it must be told; an emulated one does not name its emulator."""
        if self.hidden and virt_type != KVM:
            return model.named().with_feature(_HYPERVISOR, has=False)
        return model if self.address_mode is None else model.named()

    def addresses(self) -> ET.Element | None:
        """Return how large physical addresses are; None: as the CPU has it."""
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
        """Return the IOMMU; Intel's remaps interrupts, too, and lets QEMU's devices go through."""
        if self.iommu is None:
            return []
        if self.iommu != _INTEL:
            return [element("iommu", model=self.iommu)]
        driver = element("driver", intremap="on", caching_mode="on", iotlb="on")
        return [element("iommu", driver, model=_INTEL)]
