"""Base images: images converted to raw, the backing files of root disks, cached while in use."""

import contextlib
import logging
import os
import pathlib
import struct
from collections.abc import Callable, Collection, Iterator
from typing import Final

from roost import exception
from roost.compute.bounded_folder import BoundedFolder
from roost.compute.locks import Locks
from roost.compute.virt.libvirt.images import PLAIN, Image, convert, measure

LOG = logging.getLogger(__name__)
_QCOW2: Final = b"QFI\xfb"
_HEAD: Final = struct.Struct(">4sIQI")  # magic, version, offset and length of the base's name
_PARTS: Final = 2  # the default limit is one part of the file system
_YOUNG: Final = 60.0  # seconds in which a host that shares the folder creates a disk on one
InUse = Callable[[], Collection[str]]


class BaseImages:
    """Stores base images in ``folder``, each under the content-based name of its image.

    :param folder: created when first needed
    :param in_use: returns the names of the bases that disks use; when it raises, none is removed
    :param lifetime: seconds until an unused base is removed; 0: never
    :param most: limit of all bases in bytes; 0: none; None: the free space, and half of the file
        system while no disk uses them
    :param node: the name of this host, where others share the folder
    """

    def __init__(
        self,
        folder: pathlib.Path,
        *,
        in_use: InUse,
        lifetime: float,
        most: int | None = None,
        node: str = "",
    ) -> None:
        self._folder = BoundedFolder(
            folder,
            most=most,
            parts=_PARTS,
            suffix=".raw",
            part=f".{node}.part",  # hosts that share the folder may convert the same image
            in_use=in_use,
            young=_YOUNG,
        )
        self._lifetime = lifetime
        self._locks = Locks()

    @contextlib.contextmanager
    def held(self, path: pathlib.Path, image: Image) -> Iterator[pathlib.Path]:
        """Return the base of an image, converted if need be, and keep it within the block.

        After that it stays for as long as a disk uses it.

        :raises roost.exception.BuildFailed: when it cannot be created; another host may have space
        """
        base, user = self._folder.file(path.stem), object()
        self._folder.use(base, user)
        try:
            with self._locks.hold(base.stem):
                if base.exists():
                    os.utime(base)
                else:
                    self._make(path, image, base)
            yield base
        finally:
            self._folder.release(user)

    def clear(self) -> None:
        """Remove incomplete files of a killed daemon of this host.

        No guest may be built meanwhile.
        """
        self._folder.clear()

    def tidy(self) -> None:
        """Remove bases that were unused for long enough, and incomplete files.

        Also enforces a limit that the operator has lowered.
        """
        self._folder.tidy(self._lifetime)

    def _make(self, path: pathlib.Path, image: Image, base: pathlib.Path) -> None:
        try:
            with self._folder.room(base, measure(path, image)) as partial:
                convert(path, partial, from_=image.kind, to=PLAIN)
                with partial.open("rb") as file:
                    os.fsync(file.fileno())
                partial.chmod(0o644)
        except exception.NoCapacity as error:
            raise exception.BuildFailed(
                f"There is no room for a base image: {error.message}",
                user_reason="The host had no room for the image of this server.",
            ) from error
        LOG.info("%s (%s) was converted to a base image", path.name, image.kind)


def base_of(disk: pathlib.Path) -> str | None:
    """Return the name of a disk's backing file; None: it has none, or the disk was removed.

    Reads the qcow2 header, as QEMU locks an open disk against qemu-img.
    """
    with contextlib.suppress(FileNotFoundError), disk.open("rb") as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        magic, _version, where, length = _HEAD.unpack(head)
        if magic == _QCOW2 and where:
            file.seek(where)
            return pathlib.Path(os.fsdecode(file.read(length))).name
    return None
