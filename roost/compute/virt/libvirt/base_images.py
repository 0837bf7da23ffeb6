"""Images as plain bytes, for the root disks of guests to stand on: made once, kept while of use."""

import contextlib
import glob
import logging
import os
import pathlib
import struct
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from roost import exception
from roost.compute import image_cache
from roost.compute.locks import Locks
from roost.compute.virt.libvirt.images import PLAIN, Image, convert

LOG = logging.getLogger(__name__)
_QCOW2: Final = b"QFI\xfb"
_HEAD: Final = struct.Struct(">4sIQI")  # magic, version, and where and how long its base's name is
_WHOLE: Final = ".raw"
_PARTS: Final = 2  # of the file system, one of which bases have
_YOUNG: Final = 60.0  # seconds in which a host that shares the folder has made a disk of one
Standing = Callable[[], Collection[str]]


class BaseImages:
    """Keeps bases in ``folder``: an image's file is named by its contents, and so is its base.

    :param folder: made when first needed
    :param standing: returns the names of the bases that disks stand on; when it raises, none is
        removed
    :param lifetime: seconds that one which no disk stands on is kept for the next; 0: for ever
    :param most: bytes of the disk that all of them may have; 0: any number; None: half of the
        file system
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
        self._folder = folder
        self._part = f".{node}.part"  # hosts that share the folder may be at the same base
        self._standing = standing
        self._lifetime = lifetime
        self._most = most
        self._locks = Locks()
        self._counting = threading.Lock()
        self._coming: dict[pathlib.Path, int] = {}

    @contextlib.contextmanager
    def held(self, path: pathlib.Path, image: Image) -> Iterator[pathlib.Path]:
        """Return what a root disk from this image stands on, made if need be.

        It is there while the block lasts, and then for as long as a disk stands on it.

        :raises roost.exception.BuildFailed: when it cannot be made; another host may have room
        """
        base = self._folder / f"{path.stem}{_WHOLE}"
        with self._locks.hold(base.stem):
            if base.exists():
                os.utime(base)
            else:
                partial = base.with_suffix(self._part)
                with self._room(partial, image.size):
                    _make(path, image, base, partial=partial)
            yield base

    def clear(self) -> None:
        """Remove what this host left half-made when its daemon was killed.

        No guest may be made meanwhile.
        """
        for left in self._folder.glob(f"*{glob.escape(self._part)}"):
            left.unlink(missing_ok=True)

    def tidy(self) -> None:
        """Remove those that nobody has needed for long enough, and what was left half-made.

        And what is too much, since somebody has lowered how much there may be.
        """
        if self._lifetime:
            used = self._standing()
            for path in sorted(self._folder.iterdir()):
                with contextlib.suppress(FileNotFoundError):  # what is half-made becomes whole
                    if path.name in used:
                        os.utime(path)
                    elif _is_old(path, self._lifetime):
                        self._remove(path)
        with contextlib.suppress(exception.BuildFailed), self._counting:  # disks stand on it
            self._make_room(0)

    def _remove(self, path: pathlib.Path) -> None:
        """Remove it, unless a guest was made of it at this very moment."""
        with self._locks.hold(path.stem):
            if _is_old(path, self._lifetime) and path.name not in self._standing():
                path.unlink()
                LOG.info("%s is removed: no guest has stood on it for long", path.name)

    @contextlib.contextmanager
    def _room(self, partial: pathlib.Path, size: int) -> Iterator[None]:
        """Have room for one that is being made."""
        with self._counting:
            self._make_room(size)
            self._coming[partial] = size
        try:
            yield
        finally:
            with self._counting:
                del self._coming[partial]

    def _make_room(self, size: int) -> None:
        """Remove what nobody needs, those first that were not needed for longest; none in vain."""
        most = image_cache.folder_limit(self._folder, said=self._most, parts=_PARTS)
        if not most:
            return
        sizes = self._sizes()
        excess = sum(sizes.values()) + sum(self._coming.values()) + size - most
        going: list[pathlib.Path] = []
        with contextlib.ExitStack() as held:
            for path in self._idle(sizes) if excess > 0 else []:
                free = held.enter_context(self._locks.hold(path.stem, within=0))
                if excess > 0 and free and _is_old(path, _YOUNG):
                    going.append(path)
                    excess -= sizes[path]
            if excess > 0:
                raise exception.BuildFailed(
                    f"its root disk has no room: the image has {size} bytes, and those that disks"
                    f" stand on {most} at most on this host, {excess} too few"
                )
            for path in going:
                path.unlink(missing_ok=True)
                LOG.info("%s is removed: there is to be room for another", path.name)

    def _sizes(self) -> dict[pathlib.Path, int]:
        """Return how many bytes of the disk each file has, but for those that are being made."""
        sizes = {}
        for path in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):
                sizes[path] = path.stat().st_blocks * 512
        return {path: sizes[path] for path in sizes if path not in self._coming}

    def _idle(self, paths: Iterable[pathlib.Path]) -> list[pathlib.Path]:
        """Return those that no disk stands on, those first that were not needed for longest."""
        used = self._standing()
        times = {}
        for path in paths:
            if path.suffix == _WHOLE and path.name not in used:
                with contextlib.suppress(FileNotFoundError):
                    times[path] = path.stat().st_mtime
        return sorted(times, key=times.__getitem__)


def _is_old(path: pathlib.Path, seconds: float) -> bool:
    """Tell whether it is there, and was not needed for so long."""
    with contextlib.suppress(FileNotFoundError):
        return time.time() - path.stat().st_mtime > seconds
    return False


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
