"""What a guest is rescued from, as the image of the rescue says."""

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
from roost.objects import Instance


@dataclasses.dataclass(frozen=True)
class Rescuer:
    """A disk or a CD on ``bus``, with all disks of the guest where they are.

    Without a bus it takes the place of the guest's own disk, which comes last then.
    """

    is_cd: bool = False
    bus: str | None = None

    @classmethod
    def of(cls, instance: Instance) -> Self:
        """Read what the image says that an instance is to be rescued from.

        :raises roost.exception.Invalid: for what cannot be
        """
        asked = rescue_device(HardwareProperties(instance.flavor, instance.task_image))
        return cls() if asked is None else cls(*asked)

    def size(self, instance: Instance, image: Image) -> int:
        """Return how large it is, in bytes: a disk as large as the guest's own, a CD no larger.

        :raises roost.exception.BuildFailed: when the image is larger than the guest's own disk
        """
        root = DiskLayout.of(instance, image).root
        return image.size if self.is_cd else root

    def put_into(
        self, domain: ET.Element, path: pathlib.Path, kernel: DirectKernel | None = None
    ) -> None:
        """Have a domain start from it, by the kernel that its image names."""
        if self.bus is None:
            disks.start_from(domain, path)
        else:
            made = Drive(path, kind=kind_of(path)) if self.is_cd else Disk(path, "")
            disks.start_from_other(domain, made, bus=self.bus)
        start_by(domain, kernel)


def take_out(domain: ET.Element, own: pathlib.Path) -> None:
    """Undo :meth:`Rescuer.put_into`, with the guest's own disk."""
    disks.start_from_own(domain, own)
    start_as_usual(domain)
