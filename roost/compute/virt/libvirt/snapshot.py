"""Snapshots: copies of a guest's root disk, which the guest may go on writing to.

libvirt copies the disk of a guest in memory, and then repeats each write of the guest in the copy,
until the copy ends. So the copy is as of that moment; where the image requests it, the guest's
agent freezes the file systems meanwhile.
"""

import contextlib
import functools
import pathlib
import time
from collections.abc import Iterator
from typing import BinaryIO, Final

from roost import exception, states
from roost.compute.virt.libvirt import agent, guests, images
from roost.compute.virt.libvirt.folder import kind_of
from roost.compute.virt.libvirt.presence import Residents

_SECONDS: Final = 3600.0  # that copying a disk may take
_LOOK: Final = 0.1


@contextlib.contextmanager
def exported(residents: Residents, uuid: str, *, disk_format: str) -> Iterator[BinaryIO]:
    """Yield a copy of a guest's root disk, in a format of images.

    :raises roost.exception.Unsupported: when no disk can be converted to that format
    """
    if disk_format not in images.EXPORTS:
        known = ", ".join(sorted(images.EXPORTS))
        raise exception.Unsupported(f"disk_format is '{disk_format}', but must be one of {known}.")
    folder = residents.folders.of(uuid)
    try:
        source = _copy(residents, uuid)
        kind = images.EXPORTS[disk_format]
        images.convert(source, folder.export, from_=kind_of(source), to=kind)
        folder.snapshot.unlink(missing_ok=True)
        with folder.export.open("rb") as disk:
            yield disk
    finally:
        folder.snapshot.unlink(missing_ok=True)
        folder.export.unlink(missing_ok=True)


def _copy(residents: Residents, uuid: str) -> pathlib.Path:
    """Return a file with the root disk that nothing writes to."""
    folder = residents.folders.of(uuid)
    found = residents.on(uuid, "read the state of a guest", guests.power_state)
    if found not in (states.RUNNING, states.HELD):
        return folder.root
    begin = functools.partial(guests.begin_copy, own=folder.root, target=folder.snapshot)
    device = residents.on(uuid, "copy the disk of a guest", begin)
    try:
        _await_copy(residents, uuid, device)
        end = functools.partial(agent.end_copy_quietly, device=device)
        residents.on(uuid, "end the copy of a disk", end)
    finally:
        end = functools.partial(guests.end_copy, device=device)
        residents.on(uuid, "end the copy of a disk", end)
    return folder.snapshot


def _await_copy(residents: Residents, uuid: str, device: str) -> None:
    has_copied = functools.partial(guests.has_copied, device=device)
    deadline = time.monotonic() + _SECONDS
    while not residents.on(uuid, "copy the disk of a guest", has_copied):
        if time.monotonic() > deadline:
            raise exception.Timeout("The disk could not be copied in time.")
        time.sleep(_LOOK)
