"""Making what a guest has on disk, as its layout says."""

import dataclasses
import pathlib
import shutil

from roost.compute.virt.driver import Kernel
from roost.compute.virt.libvirt import disks, filesystems, images
from roost.compute.virt.libvirt.bases import Bases
from roost.compute.virt.libvirt.disks import Disk, Names
from roost.compute.virt.libvirt.firmware import DirectKernel
from roost.compute.virt.libvirt.folder import RAW, GuestFolder
from roost.compute.virt.libvirt.hardware import Hardware
from roost.compute.virt.libvirt.images import Image
from roost.compute.virt.libvirt.layout import Layout
from roost.compute.virt.libvirt.rescuer import Rescuer
from roost.objects import Instance
from roost.objects.provisions import SWAP


@dataclasses.dataclass(frozen=True)
class NewDisks:
    """Makes disks of one kind of files.

    :param images_type: one of those of :mod:`roost.compute.virt.libvirt.folder`
    :param ephemeral_format: of ephemeral disks of which nobody says what is to be on them
    """

    bases: Bases
    images_type: str
    ephemeral_format: str

    def seen(
        self, folder: GuestFolder, layout: Layout, hardware: Hardware, names: Names
    ) -> tuple[Disk, ...]:
        """Return its disks as it sees them; a bus that a user has said for one of them counts."""
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
        layout: Layout,
        image_path: pathlib.Path | None,
        image: Image | None,
    ) -> None:
        """Make the root disk, if there is to be one: from an image, or blank."""
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

    def blanks(self, folder: GuestFolder, layout: Layout) -> None:
        """Make the others."""
        for number, blank in enumerate(layout.blanks):
            filesystems.create(
                folder.blank(number, self.images_type),
                size=blank.size,
                guest_format=blank.guest_format or self.ephemeral_format,
                label=f"{'swap' if blank.guest_format == SWAP else 'ephemeral'}{number}",
            )

    def rescue(
        self, folder: GuestFolder, rescuer: Rescuer, instance: Instance, image_path: pathlib.Path
    ) -> None:
        """Make what a guest is rescued from; of an image that is too large nothing is made.

        :raises roost.exception.BuildFailed: when it is
        """
        image = images.inspect(image_path)
        size = rescuer.size(instance, image)
        with self.bases.held(image_path, image) as base:
            images.create(folder.rescue, size=size, base=base)

    def beside(
        self, folder: GuestFolder, drive: pathlib.Path | None, kernel: Kernel | None
    ) -> None:
        """Copy what comes as it is."""
        if drive is not None:
            shutil.copy(drive, folder.drive)
        if kernel is not None:
            DirectKernel.of(kernel, folder).bring(kernel)


def _disk(
    path: pathlib.Path, names: Names, bus: str, hardware: Hardware, *, boot_order: int | None = None
) -> Disk:
    tuning, packed = hardware.tuning, hardware.packed
    return Disk(path, names.next(bus), boot_order, bus=bus, tuning=tuning, packed=packed)
