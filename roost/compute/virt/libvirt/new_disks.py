"""Creates the disks of a guest by its layout.

Blank disks have swap space or a file system, created without mounting.
"""

import dataclasses
import pathlib
import shutil
from collections.abc import Mapping
from typing import Final

from roost import exception
from roost.compute.virt.driver import Kernel
from roost.compute.virt.libvirt import disks, images
from roost.compute.virt.libvirt.base_images import BaseImages
from roost.compute.virt.libvirt.disks import Disk, DiskNames
from roost.compute.virt.libvirt.firmware import DirectKernel
from roost.compute.virt.libvirt.folder import QCOW2, RAW, GuestFolder, kind_of
from roost.compute.virt.libvirt.hardware import Hardware
from roost.compute.virt.libvirt.images import Image, run
from roost.compute.virt.libvirt.layout import DiskLayout
from roost.compute.virt.libvirt.rescue import Rescuer
from roost.objects import Instance
from roost.objects.instance import SWAP, UNFORMATTED

# the program and its arguments before the label
_MAKERS: Final[Mapping[str, tuple[str, ...]]] = {
    "ext2": ("mkfs.ext2", "-q", "-F", "-L"),
    "ext3": ("mkfs.ext3", "-q", "-F", "-L"),
    "ext4": ("mkfs.ext4", "-q", "-F", "-L"),
    "vfat": ("mkfs.vfat", "-n"),
    "xfs": ("mkfs.xfs", "-q", "-f", "-L"),
    SWAP: ("mkswap", "-L"),
}


def create(path: pathlib.Path, *, size: int, guest_format: str, label: str) -> None:
    """Create a formatted disk of ``size`` bytes; the suffix of ``path`` selects the file format.

    :raises roost.exception.BuildFailed: when this host, or any host, cannot make it
    """
    if guest_format == UNFORMATTED:
        images.blank(path, size=size)
        return
    program, *options = _maker(guest_format)
    plain = path.with_suffix(".plain")
    try:
        with plain.open("wb") as file:
            file.truncate(size)
        run(program, *options, label, str(plain))
        if kind_of(path) == RAW:
            plain.rename(path)
        else:
            images.convert(plain, path, from_=images.PLAIN, to=QCOW2)
    finally:
        plain.unlink(missing_ok=True)


def _maker(guest_format: str) -> tuple[str, ...]:
    if guest_format not in _MAKERS:
        known = ", ".join(_MAKERS)
        raise exception.BuildFailed(
            f"guest_format is '{guest_format}', but must be one of {known}.", reschedulable=False
        )
    return _MAKERS[guest_format]


@dataclasses.dataclass(frozen=True)
class NewDisks:
    """Creates disks in one file format.

    :param images_type: one of those of :mod:`roost.compute.virt.libvirt.folder`
    :param ephemeral_format: the default format of ephemeral disks
    """

    bases: BaseImages
    images_type: str
    ephemeral_format: str

    def seen(
        self, folder: GuestFolder, layout: DiskLayout, hardware: Hardware, names: DiskNames
    ) -> tuple[Disk, ...]:
        """Return the disks as the guest sees them; a disk's requested bus takes precedence."""
        found = []
        if layout.root:
            order = disks.own_order(network_boot=hardware.network_boot)
            bus, path = hardware.bus(layout.root_bus), folder.new_root(self.images_type)
            found.append(_disk(path, names, bus, hardware, boot_order=order))
        for number, blank in enumerate(layout.blanks):
            bus, path = hardware.bus(blank.bus), folder.blank(number, self.images_type)
            found.append(_disk(path, names, bus, hardware))
        return tuple(found)

    def root(
        self,
        folder: GuestFolder,
        layout: DiskLayout,
        image_path: pathlib.Path | None,
        image: Image | None,
    ) -> None:
        """Create the root disk, if the layout has one: from an image, or blank."""
        path = folder.new_root(self.images_type)
        if not layout.root:
            return
        if image_path is None or image is None:
            images.blank(path, size=layout.root)
        elif self.images_type == RAW:
            images.copy(image_path, image, path, size=layout.root)
        else:
            with self.bases.held(image_path, image) as base:
                images.create(path, size=layout.root, base=base)

    def blanks(self, folder: GuestFolder, layout: DiskLayout) -> None:
        """Create the other disks."""
        for number, blank in enumerate(layout.blanks):
            create(
                folder.blank(number, self.images_type),
                size=blank.size,
                guest_format=blank.guest_format or self.ephemeral_format,
                label=f"{'swap' if blank.guest_format == SWAP else 'ephemeral'}{number}",
            )

    def rescue(
        self, folder: GuestFolder, rescuer: Rescuer, instance: Instance, image_path: pathlib.Path
    ) -> None:
        """Create the rescue disk.

        :raises roost.exception.BuildFailed: when the image is too large
        """
        image = images.inspect(image_path)
        size = rescuer.size(instance, image)
        with self.bases.held(image_path, image) as base:
            images.create(folder.rescue, size=size, base=base)

    def beside(
        self, folder: GuestFolder, drive: pathlib.Path | None, kernel: Kernel | None
    ) -> None:
        """Copy the config drive and the kernel into the guest's folder."""
        if drive is not None:
            shutil.copy(drive, folder.drive)
        if kernel is not None:
            DirectKernel.of(kernel, folder).copy_files(kernel)


def _disk(
    path: pathlib.Path,
    names: DiskNames,
    bus: str,
    hardware: Hardware,
    *,
    boot_order: int | None = None,
) -> Disk:
    tuning, packed = hardware.tuning, hardware.packed
    return Disk(path, names.next(bus), boot_order, bus=bus, tuning=tuning, packed=packed)
