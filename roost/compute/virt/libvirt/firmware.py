"""What a guest is started by: its machine, and what that does before its own system does."""

import dataclasses
import pathlib
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
    """What the firmware starts, in place of what is on a disk.

    Without a ``command_line`` it is told where its disk is, and to speak to both consoles.
    """

    path: pathlib.Path
    ramdisk: pathlib.Path | None
    command_line: str | None

    @classmethod
    def of(cls, kernel: Kernel, folder: GuestFolder) -> Self:
        """Return it as it will be in the folder of its guest."""
        ramdisk = None if kernel.ramdisk is None else folder.ramdisk
        return cls(folder.kernel, ramdisk, kernel.command_line)

    @classmethod
    def of_rescue(cls, kernel: Kernel, folder: GuestFolder) -> Self:
        """Return it as it will be there beside what starts the guest when it is not rescued."""
        ramdisk = None if kernel.ramdisk is None else folder.rescue_ramdisk
        return cls(folder.rescue_kernel, ramdisk, kernel.command_line)

    def bring(self, kernel: Kernel) -> None:
        """Copy its files."""
        shutil.copy(kernel.path, self.path)
        if kernel.ramdisk is not None and self.ramdisk is not None:
            shutil.copy(kernel.ramdisk, self.ramdisk)

    def elements(self, *, root: str = "vda") -> list[ET.Element]:
        """Return what a domain says of it.

        :param root: the name of the disk that its system is on
        """
        initrd = [] if self.ramdisk is None else [element("initrd", text=str(self.ramdisk))]
        words = element("cmdline", text=self.command_line or _COMMAND_LINE.format(root))
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
    def of(cls, words: HardwareProperties, *, machine: str | None) -> Self:
        """Read what flavor and image say.

        :param machine: of guests whose image names none
        :raises roost.exception.Invalid: for what is not known, or contradicts itself
        """
        return cls(
            machine=rules.machine(words, machine),
            uefi=chosen(words, "hw_firmware_type") == rules.UEFI,
            secure=rules.secure_boot(words),
            boot_menu=_boot_menu(words),
        )

    @property
    def is_q35(self) -> bool:
        """Whether the machine has PCIe."""
        return rules.is_q35(self.machine)

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


def start_by(domain: ET.Element, kernel: DirectKernel | None) -> None:
    """Have a domain be started by a kernel of its first disk's, or None, and remember the usual."""
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
    place = len([one for one in made if one.tag not in _BEHIND_IT])
    made[place:place] = parts


def _boot_menu(words: HardwareProperties) -> bool:
    """Tell whether there is a menu; where both speak the flavor counts."""
    flavor, image = words.flavor_word("boot_menu"), words.image_word("boot_menu")
    if flavor is not None:
        return truth("hw:boot_menu", flavor)
    return truth("hw_boot_menu", image)
