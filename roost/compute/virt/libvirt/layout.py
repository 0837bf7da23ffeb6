"""The disks of a guest and their sizes."""

import dataclasses
from collections.abc import Iterable
from typing import Final, Self

from roost import exception
from roost.compute.virt.libvirt.images import Image
from roost.objects import BlockDevice, Flavor, Instance
from roost.objects.flavor import root_gb
from roost.objects.instance import IMAGE, SWAP

_MIB: Final = 1024 * 1024
_GIB: Final = 1024 * _MIB
_SECTOR: Final = 512


@dataclasses.dataclass(frozen=True)
class Blank:
    """A disk without an image; ``guest_format`` None: the host's default.

    ``bus`` is what its user requests; None: that of the guest's other disks.
    """

    size: int
    guest_format: str | None = None
    bus: str | None = None


@dataclasses.dataclass(frozen=True)
class DiskLayout:
    """Sizes in bytes; ``root`` is 0 when the guest has no root disk."""

    root: int
    blanks: tuple[Blank, ...] = ()
    root_bus: str | None = None

    @classmethod
    def of(cls, instance: Instance, image: Image | None) -> Self:
        """Return the disks of an instance that boots from an image; None: from a blank disk.

        :raises roost.exception.BuildFailed: when the image is larger than the root disk
        """
        given = instance.provisions.block_devices if instance.provisions else []
        if not given:
            size = _root(instance, instance.flavor.root_gb * _GIB, image)
            return cls(size, _blanks(instance.flavor))
        root = next((one for one in given if one.source_type == IMAGE), None)
        requested = instance.flavor.root_gb * _GIB if root is None else root.size_mb * _MIB
        bus = None if root is None else root.disk_bus
        return cls(_root(instance, requested, image), tuple(_given_blanks(given)), root_bus=bus)


def _root(instance: Instance, requested: int, image: Image | None) -> int:
    """Return the size of a root disk in bytes; ``requested`` 0: that of its image.

    Even then it is no larger than what the scheduler reserved.
    """
    most = requested or root_gb(instance.flavor, instance.image) * _GIB
    if image is None:
        return requested
    if image.size > most:
        raise exception.BuildFailed(
            f"The image is {image.size} bytes large, more than the root disk of {most} bytes; take"
            " a larger flavor, or one with a root disk.",
            reschedulable=False,
        )
    return requested or -(-image.size // _SECTOR) * _SECTOR


def _blanks(flavor: Flavor) -> tuple[Blank, ...]:
    found = (Blank(flavor.ephemeral_gb * _GIB), Blank(flavor.swap * _MIB, SWAP))
    return tuple(blank for blank in found if blank.size)


def _given_blanks(given: Iterable[BlockDevice]) -> Iterable[Blank]:
    return (
        Blank(one.size_mb * _MIB, one.guest_format, one.disk_bus)
        for one in given
        if one.source_type != IMAGE and one.size_mb
    )
