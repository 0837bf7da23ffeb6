"""The rescue device of a guest, as the rescue image requests it."""

import dataclasses
import pathlib
import xml.etree.ElementTree as ET
from typing import Self

from roost.compute.virt.libvirt import disks
from roost.compute.virt.libvirt.disks import Disk, Drive
from roost.compute.virt.libvirt.firmware import DirectKernel, start_as_usual, start_by
from roost.compute.virt.libvirt.folder import kind_of
from roost.compute.virt.libvirt.images import Image
from roost.compute.virt.libvirt.layout import DiskLayout
from roost.hardware.properties import HardwareProperties
from roost.hardware.rules import rescue_device
from roost.objects import ImageMeta, Instance


@dataclasses.dataclass(frozen=True)
class Rescuer:
    """A rescue disk or CD on ``bus``, in addition to all disks of the guest.

    Without a bus it replaces the guest's own root disk, which becomes the last disk.
    """

    is_cd: bool = False
    bus: str | None = None

    @classmethod
    def of(cls, instance: Instance, image: ImageMeta) -> Self:
        """Read the rescue device that the image requests.

        :raises roost.exception.Invalid: when the request is invalid
        """
        found = rescue_device(HardwareProperties(instance.flavor, image))
        return cls() if found is None else cls(*found)

    def size(self, instance: Instance, image: Image) -> int:
        """Return its size in bytes: that of the guest's own root disk, or of the image for a CD.

        :raises roost.exception.BuildFailed: when the image is larger than the guest's own disk
        """
        root = DiskLayout.of(instance, image).root
        return image.size if self.is_cd else root

    def put_into(
        self, domain: ET.Element, path: pathlib.Path, kernel: DirectKernel | None = None
    ) -> None:
        """Change a domain to boot from it, with the kernel that its image names."""
        if self.bus is None:
            disks.start_from(domain, path)
        else:
            made = Drive(path, kind=kind_of(path)) if self.is_cd else Disk(path, "")
            disks.start_from_other(domain, made, bus=self.bus)
        start_by(domain, kernel)


def take_out(domain: ET.Element, own: pathlib.Path) -> None:
    """Undo :meth:`Rescuer.put_into`; ``own`` is the guest's own root disk."""
    disks.start_from_own(domain, own)
    start_as_usual(domain)
