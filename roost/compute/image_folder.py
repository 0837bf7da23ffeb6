"""The folder of a host's images: what is in use stays, and all of it has so many bytes at most."""

import contextlib
import logging
import os
import pathlib
import threading
import time
from collections.abc import Iterator
from typing import Final

from roost import exception
from roost.compute import file_systems

LOG = logging.getLogger(__name__)
_WHOLE: Final = "*.img"
_PART: Final = "*.part"
_PARTS: Final = 4  # of the file system, one of which images have
_Found = tuple[pathlib.Path, os.stat_result]


class ImageFolder:
    """Whole images are ``NAME.img``; when one was last wanted is the time of its file.

    What is used, and what is being fetched, is known to this process alone, which owns the folder.

    :param path: made when first needed
    :param most: bytes of all images, those included that are being fetched; 0: any number; None: a
        quarter of the file system
    """

    def __init__(self, path: str | os.PathLike[str], *, most: int | None = None) -> None:
        self.path = pathlib.Path(path)
        self._most = most
        self._lock = threading.Lock()
        self._users: dict[pathlib.Path, set[object]] = {}
        self._coming: dict[pathlib.Path, int] = {}

    def image(self, name: str) -> pathlib.Path:
        """Return where an image is, if it is there."""
        return self.path / f"{name}.img"

    def use(self, path: pathlib.Path, user: object) -> None:
        """Let an image stay, or what will be it, until its user lets go of it."""
        with self._lock:
            self._users.setdefault(path, set()).add(user)

    def release(self, user: object) -> None:
        """Let go of all that somebody uses; nobody is fine."""
        with self._lock:
            for path in [*self._users]:
                self._users[path].discard(user)
                if not self._users[path]:
                    del self._users[path]

    @contextlib.contextmanager
    def room(self, path: pathlib.Path, size: int) -> Iterator[pathlib.Path]:
        """Yield where to write an image of so many bytes; whole, it is put in its place.

        Room is made by removing images that nobody uses, those first that were not wanted for
        longest; none is removed in vain. What is half-written at the end goes.

        :raises roost.exception.NoCapacity: when there is no room, whatever would be removed
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with self._lock:
            self._make_room(size)
            self._coming[path] = size
        partial = path.with_suffix(".part")
        try:
            yield partial
            partial.rename(path)
        finally:
            partial.unlink(missing_ok=True)
            with self._lock:
                del self._coming[path]

    def clear(self) -> None:
        """Remove what a daemon left half-written that was killed; nobody may write meanwhile."""
        for left in self.path.glob(_PART):
            left.unlink(missing_ok=True)

    def tidy(self, lifetime: float) -> None:
        """Remove what nobody uses and has wanted for so many seconds (0: for ever), or is too much.

        It may be too much since somebody has lowered what there may be.
        """
        with self._lock:
            for path, status in self._unused() if lifetime else []:
                if time.time() - status.st_mtime > lifetime:
                    path.unlink(missing_ok=True)
                    LOG.info("image %s is removed: no build has wanted it for long", path.stem)
            with contextlib.suppress(exception.NoCapacity):  # builds use it
                self._make_room(0)

    def _make_room(self, size: int) -> None:
        most = file_systems.most(self.path, said=self._most, parts=_PARTS)
        if not most:
            return
        stays = sum(status.st_size for _, status in self._whole()) + sum(self._coming.values())
        going = []
        for path, status in self._unused():
            if stays + size <= most:
                break
            going.append(path)
            stays -= status.st_size
        if stays + size > most:
            raise exception.NoCapacity(
                f"it has {size} bytes, and all images of this host {most} at most, of which"
                f" {stays} are of images that builds use or fetch"
            )
        for path in going:
            path.unlink(missing_ok=True)
            LOG.info("image %s is removed: there is to be room for another", path.stem)

    def _unused(self) -> list[_Found]:
        return [(path, status) for path, status in self._whole() if path not in self._users]

    def _whole(self) -> list[_Found]:
        """Return the images that are here, those first that were not wanted for longest."""
        found = []
        for path in self.path.glob(_WHOLE):
            with contextlib.suppress(FileNotFoundError):  # an operator may remove some
                found.append((path, path.stat()))
        here = [one for one in found if one[0] not in self._coming]
        return sorted(here, key=lambda one: one[1].st_mtime)
