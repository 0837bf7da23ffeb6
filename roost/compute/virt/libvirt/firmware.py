"""What a guest is started by: its machine, and what that does before its own system does."""

import dataclasses
import pathlib
import xml.etree.ElementTree as ET
from typing import Final, Self

from roost import exception
from roost.compute.virt.driver import Kernel
from roost.compute.virt.libvirt.elements import element
from roost.compute.virt.libvirt.folder import GuestFolder
from roost.objects.hardware_values import agreed, chosen
from roost.objects.hardware_words import HardwareWords, truth

BIOS: Final = "bios"
UEFI: Final = "uefi"
_COMMAND_LINE: Final = "root=/dev/vda console=tty0 console=ttyS0"
_Q35: Final = "q35"


@dataclasses.dataclass(frozen=True)
class DirectKernel:
    """What the firmware starts, in place of what is on a disk."""

    path: pathlib.Path
    ramdisk: pathlib.Path | None
    command_line: str

    @classmethod
    def of(cls, kernel: Kernel, folder: GuestFolder) -> Self:
        """Return it as it will be in the folder of its guest."""
        ramdisk = None if kernel.ramdisk is None else folder.ramdisk
        return cls(folder.kernel, ramdisk, kernel.command_line or _COMMAND_LINE)

    def elements(self) -> list[ET.Element]:
        initrd = [] if self.ramdisk is None else [element("initrd", text=str(self.ramdisk))]
        words = element("cmdline", text=self.command_line)
        return [element("kernel", text=str(self.path)), *initrd, words]


@dataclasses.dataclass(frozen=True)
class Firmware:
    """``machine`` is a name that QEMU knows; None: what it takes by itself.

    ``secure``: only systems start that carry a signature that UEFI knows. Which file UEFI is in,
    libvirt finds out.
    """

    machine: str | None = None
    uefi: bool = False
    secure: bool = False
    boot_menu: bool = False

    @classmethod
    def of(cls, words: HardwareWords, *, machine: str | None) -> Self:
        """Read what flavor and image say.

        :param machine: of guests whose image names none
        :raises roost.exception.Invalid: for what is not known, or contradicts itself
        """
        kind = chosen(words, "hw_firmware_type") or BIOS
        machine = words.image_word("machine_type") or machine
        secure = _secure(words)
        if secure:
            _check_uefi(kind)
            machine = _q35("os_secure_boot", machine)
        if agreed(words, "viommu_model") is not None:
            machine = _q35("hw:viommu_model", machine)
        return cls(machine=machine, uefi=kind == UEFI, secure=secure, boot_menu=_boot_menu(words))

    @property
    def is_q35(self) -> bool:
        """Whether the machine has PCIe, and neither IDE nor floppies."""
        return _is_q35(self.machine)

    def element(self, kernel: DirectKernel | None = None) -> ET.Element:
        kind = element("type", text="hvm")
        if self.machine is not None:
            kind.set("machine", self.machine)
        menu = element("bootmenu", enable="yes") if self.boot_menu else None
        direct = () if kernel is None else kernel.elements()
        told = element("smbios", mode="sysinfo")
        made = element("os", kind, self._features(), *direct, menu, told)
        if self.uefi:
            made.set("firmware", "efi")
        return made

    def features(self) -> list[ET.Element]:
        """Return what the machine has for its firmware."""
        smm = [element("smm", state="on")] if self.secure else []
        return [element("acpi"), element("apic"), *smm]

    def _features(self) -> ET.Element | None:
        if not self.secure:
            return None
        names = ("secure-boot", "enrolled-keys")
        return element("firmware", *[element("feature", enabled="yes", name=one) for one in names])


def _secure(words: HardwareWords) -> bool:
    """Tell whether only signed systems are to start; "optional" is what UEFI makes of it."""
    flavor, image = chosen(words, "os:secure_boot"), chosen(words, "os_secure_boot")
    if flavor and image and flavor != image:
        raise exception.Invalid(
            f"Image property 'os_secure_boot' is '{image}', but the flavor says '{flavor}' by"
            " 'os:secure_boot'."
        )
    return (flavor or image) == "required"


def _check_uefi(kind: str) -> None:
    if kind != UEFI:
        raise exception.Invalid("os_secure_boot needs an image that says hw_firmware_type=uefi.")


def _q35(name: str, machine: str | None) -> str:
    """Return the machine of a guest that asks for something which only that has."""
    if machine is not None and not _is_q35(machine):
        raise exception.Invalid(f"{name} needs hw_machine_type=q35, not '{machine}'.")
    return machine or _Q35


def _is_q35(machine: str | None) -> bool:
    return machine is not None and (machine == _Q35 or machine.startswith("pc-q35"))


def _boot_menu(words: HardwareWords) -> bool:
    """Tell whether there is a menu; where both speak the flavor counts."""
    flavor, image = words.flavor_word("boot_menu"), words.image_word("boot_menu")
    if flavor is not None:
        return truth("hw:boot_menu", flavor)
    return truth("hw_boot_menu", image)
