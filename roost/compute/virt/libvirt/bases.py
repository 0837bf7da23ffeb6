"""Images as plain bytes, for the root disks of guests to stand on: made once, kept while of use."""

import contextlib
import glob
import logging
import os
import pathlib
import struct
import time
from collections.abc import Callable, Collection, Iterator
from typing import Final

from roost.compute.locks import Locks
from roost.compute.virt.libvirt.images import PLAIN, Image, convert

LOG = logging.getLogger(__name__)
_QCOW2: Final = b"QFI\xfb"
_HEAD: Final = struct.Struct(">4sIQI")  # magic, version, and where and how long its base's name is
Standing = Callable[[], Collection[str]]


class Bases:
    """Keeps bases in ``folder``: an image's file is named by its contents, and so is its base.

    :param folder: made when first needed
    :param lifetime: seconds that one which no disk stands on is kept for the next; 0: for ever
    :param node: the name of this host, where others share the folder
    """

    def __init__(self, folder: pathlib.Path, *, lifetime: float, node: str = "") -> None:
        self._folder = folder
        self._part = f".{node}.part"  # hosts that share the folder may be at the same base
        self._lifetime = lifetime
        self._locks = Locks()

    @contextlib.contextmanager
    def held(self, path: pathlib.Path, image: Image) -> Iterator[pathlib.Path]:
        """Return what a root disk from this image stands on, made if need be.

        It is there while the block lasts, and then for as long as a disk stands on it.
        """
        base = self._folder / f"{path.stem}.raw"
        with self._locks.hold(base.stem):
            if base.exists():
                os.utime(base)
            else:
                _make(path, image, base, partial=base.with_suffix(self._part))
            yield base

    def clear(self) -> None:
        """Remove what this host left half-made when its daemon was killed.

        No guest may be made meanwhile.
        """
        for left in self._folder.glob(f"*{glob.escape(self._part)}"):
            left.unlink(missing_ok=True)

    def tidy(self, standing: Standing) -> None:
        """Remove those that nobody has needed for long enough, and what was left half-made.

        :param standing: returns the names of the bases that disks stand on; when it raises, nothing
            is removed
        """
        if not self._lifetime:
            return
        used = standing()
        for path in sorted(self._folder.iterdir()):
            with contextlib.suppress(FileNotFoundError):  # what is half-made becomes whole
                if path.name in used:
                    os.utime(path)
                elif self._is_old(path):
                    self._remove(path, standing)

    def _is_old(self, path: pathlib.Path) -> bool:
        return time.time() - path.stat().st_mtime > self._lifetime

    def _remove(self, path: pathlib.Path, standing: Standing) -> None:
        """Remove it, unless a guest was made of it at this very moment."""
        with self._locks.hold(path.stem):
            if self._is_old(path) and path.name not in standing():
                path.unlink()
                LOG.info("%s is removed: no guest has stood on it for long", path.name)


def _make(path: pathlib.Path, image: Image, base: pathlib.Path, *, partial: pathlib.Path) -> None:
    try:
        convert(path, partial, from_=image.kind, to=PLAIN)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.chmod(0o644)
        partial.rename(base)
    finally:
        partial.unlink(missing_ok=True)
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
