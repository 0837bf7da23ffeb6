"""The boot configuration of a guest: its machine type, firmware, and kernel for direct boot."""

import dataclasses
import pathlib
import platform
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Final, Self

from roost.compute.virt.driver import Kernel
from roost.compute.virt.libvirt import disks
from roost.compute.virt.libvirt.elements import element, find
from roost.compute.virt.libvirt.folder import GuestFolder
from roost.compute.virt.libvirt.identity import keep_usual, take_usual
from roost.hardware import rules
from roost.hardware.properties import HardwareProperties, truth
from roost.hardware.values import chosen

_COMMAND_LINE: Final = "root=/dev/{} console=tty0 console=ttyS0"
_STARTED_BY: Final = ("kernel", "initrd", "cmdline")
_BEHIND_IT: Final = ("bootmenu", "smbios")


@dataclasses.dataclass(frozen=True)
class DirectKernel:
    """A kernel for direct boot, instead of a boot loader on disk.

    The default ``command_line`` names the root disk and both consoles.
    """

    path: pathlib.Path
    ramdisk: pathlib.Path | None
    command_line: str | None

    @classmethod
    def of(cls, kernel: Kernel, folder: GuestFolder) -> Self:
        """Return the kernel with its paths in the guest's folder."""
        ramdisk = None if kernel.ramdisk is None else folder.ramdisk
        return cls(folder.kernel, ramdisk, kernel.command_line)

    @classmethod
    def of_rescue(cls, kernel: Kernel, folder: GuestFolder) -> Self:
        """Return the kernel of a rescue, with paths next to the usual kernel's."""
        ramdisk = None if kernel.ramdisk is None else folder.rescue_ramdisk
        return cls(folder.rescue_kernel, ramdisk, kernel.command_line)

    def copy_files(self, kernel: Kernel) -> None:
        """Copy the kernel and its ramdisk into the guest's folder."""
        shutil.copy(kernel.path, self.path)
        if kernel.ramdisk is not None and self.ramdisk is not None:
            shutil.copy(kernel.ramdisk, self.ramdisk)

    def elements(self, *, root: str = "vda") -> list[ET.Element]:
        """Return the elements of a domain for it.

        :param root: the device of the root disk
        """
        initrd = [] if self.ramdisk is None else [element("initrd", text=str(self.ramdisk))]
        arguments = element("cmdline", text=self.command_line or _COMMAND_LINE.format(root))
        return [element("kernel", text=str(self.path)), *initrd, arguments]


@dataclasses.dataclass(frozen=True)
class Firmware:
    """``machine`` is a QEMU machine type; None: QEMU's default.

    ``secure``: UEFI starts only systems with a known signature. libvirt chooses the UEFI firmware
    file.
    """

    machine: str | None = None
    uefi: bool = False
    secure: bool = False
    boot_menu: bool = False

    @classmethod
    def of(cls, properties: HardwareProperties, *, machine: str | None) -> Self:
        """Read what flavor and image request.

        :param machine: the default machine type
        :raises roost.exception.Invalid: for unknown or contradictory values
        """
        return cls(
            machine=rules.machine(properties, machine),
            uefi=chosen(properties, "hw_firmware_type") == rules.UEFI,
            secure=rules.secure_boot(properties),
            boot_menu=_boot_menu(properties),
        )

    @property
    def is_q35(self) -> bool:
        """Whether the machine has PCIe."""
        return rules.is_q35(self.machine)

    def element(self, kernel: DirectKernel | None = None) -> ET.Element:
        kind = element("type", text="hvm", arch=platform.machine())
        if self.machine is not None:
            kind.set("machine", self.machine)
        menu = element("bootmenu", enable="yes") if self.boot_menu else None
        direct = () if kernel is None else kernel.elements()
        smbios = element("smbios", mode="sysinfo")
        made = element("os", kind, self._features(), *direct, menu, smbios)
        if self.uefi:
            made.set("firmware", "efi")
        return made

    def features(self) -> list[ET.Element]:
        """Return the machine features that the firmware needs."""
        smm = [element("smm", state="on")] if self.secure else []
        return [element("acpi"), element("apic"), *smm]

    def _features(self) -> ET.Element | None:
        if not self.secure:
            return None
        names = ("secure-boot", "enrolled-keys")
        return element("firmware", *[element("feature", enabled="yes", name=one) for one in names])


def start_by(domain: ET.Element, kernel: DirectKernel | None) -> None:
    """Change a domain to boot a kernel, or (None) its first disk, and save the usual elements."""
    keep_usual(domain, _take(domain))
    if kernel is not None:
        root = find(disks.root_disk(domain), "target").attrib["dev"]
        _insert(domain, kernel.elements(root=root))


def start_as_usual(domain: ET.Element) -> None:
    """Undo :func:`start_by`."""
    usual = take_usual(domain)
    if usual is not None:
        _take(domain)
        _insert(domain, usual)


def _take(domain: ET.Element) -> list[ET.Element]:
    made = find(domain, "os")
    found = [one for one in made if one.tag in _STARTED_BY]
    for one in found:
        made.remove(one)
    return found


def _insert(domain: ET.Element, parts: Sequence[ET.Element]) -> None:
    made = find(domain, "os")
    index = len([one for one in made if one.tag not in _BEHIND_IT])
    made[index:index] = parts


def _boot_menu(properties: HardwareProperties) -> bool:
    """Return whether there is a boot menu; the flavor takes precedence over the image."""
    flavor, image = properties.flavor_value("boot_menu"), properties.image_value("boot_menu")
    if flavor is not None:
        return truth("hw:boot_menu", flavor)
    return truth("hw_boot_menu", image)
