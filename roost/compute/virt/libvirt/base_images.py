"""Images as plain bytes, for the root disks of guests to stand on: made once, kept while of use."""

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
_HEAD: Final = struct.Struct(">4sIQI")  # magic, version, and where and how long its base's name is
_PARTS: Final = 2  # of the file system, one of which bases have
_YOUNG: Final = 60.0  # seconds in which a host that shares the folder has made a disk of one
Standing = Callable[[], Collection[str]]


class BaseImages:
    """Keeps bases in ``folder``: an image's file is named by its contents, and so is its base.

    :param folder: made when first needed
    :param standing: returns the names of the bases that disks stand on; when it raises, none is
        removed
    :param lifetime: seconds that one which no disk stands on is kept for the next; 0: for ever
    :param most: bytes of the disk that all of them may have; 0: any number; None: what is free, and
        half of the file system when no disk stands on them
    :param node: the name of this host, where others share the folder
    """

    def __init__(
        self,
        folder: pathlib.Path,
        *,
        standing: Standing,
        lifetime: float,
        most: int | None = None,
        node: str = "",
    ) -> None:
        self._folder = BoundedFolder(
            folder,
            most=most,
            parts=_PARTS,
            suffix=".raw",
            part=f".{node}.part",  # hosts that share the folder may be at the same base
            in_use=standing,
            young=_YOUNG,
        )
        self._lifetime = lifetime
        self._locks = Locks()

    @contextlib.contextmanager
    def held(self, path: pathlib.Path, image: Image) -> Iterator[pathlib.Path]:
        """Return what a root disk from this image stands on, made if need be.

        It is there while the block lasts, and then for as long as a disk stands on it.

        :raises roost.exception.BuildFailed: when it cannot be made; another host may have room
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
        """Remove what this host left half-made when its daemon was killed.

        No guest may be made meanwhile.
        """
        self._folder.clear()

    def tidy(self) -> None:
        """Remove those that nobody has needed for long enough, and what was left half-made.

        And what is too much, since somebody has lowered how much there may be.
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
                f"There is no room for a plain image: {error.message}",
                told="The host had no room for the image of this server.",
            ) from error
        LOG.info("%s (%s) is ready for guests to stand on", path.name, image.kind)


def base_of(disk: pathlib.Path) -> str | None:
    """Return the name of the file that a disk stands on; None: it stands on none, or is gone.

    The head of the disk tells, which QEMU lets nobody else look for while it has it open.
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
