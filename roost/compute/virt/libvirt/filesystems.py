"""Blank disks as guests expect them: swap space, or a file system, made without mounting it."""

import pathlib
from collections.abc import Mapping
from typing import Final

from roost import exception
from roost.compute.virt.libvirt import images
from roost.compute.virt.libvirt.commands import run
from roost.compute.virt.libvirt.folder import QCOW2, RAW, kind_of
from roost.objects.provisions import SWAP, UNFORMATTED

# what makes it, and what comes before its label
_MAKERS: Final[Mapping[str, tuple[str, ...]]] = {
    "ext2": ("mkfs.ext2", "-q", "-F", "-L"),
    "ext3": ("mkfs.ext3", "-q", "-F", "-L"),
    "ext4": ("mkfs.ext4", "-q", "-F", "-L"),
    "vfat": ("mkfs.vfat", "-n"),
    "xfs": ("mkfs.xfs", "-q", "-f", "-L"),
    SWAP: ("mkswap", "-L"),
}


def create(path: pathlib.Path, *, size: int, guest_format: str, label: str) -> None:
    """Make a disk of so many bytes with that on it, of the kind that its name says.

    :raises roost.exception.BuildFailed: when it cannot be made here, or anywhere
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
