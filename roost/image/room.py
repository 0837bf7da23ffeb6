"""What a project may have in the folder of the local store: so many images, and bytes of them all.

What it has is counted when more is to come, while the folder is locked: so it is exact, and cannot
drift. Data that comes counts, too. Its file is as long as what is set aside for it, and is locked
by whoever writes it: what is not, was left by somebody who died, and goes.
"""

import contextlib
import dataclasses
import fcntl
import os
import pathlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Final

from roost import exception
from roost.objects import ImageMeta

_AHEAD: Final = 64 << 20  # bytes set aside before they come, at most,
_SHARE: Final = 16  # and not more than one such part of what is left
_OLD: Final = 3600.0  # seconds after which nobody who has just begun is meant
_PARTS: Final = ".*.img.*.part"
Said = Mapping[str, Any]
_UUID: Final = slice(1, 37)  # of the image, in the name of a part


@dataclasses.dataclass(frozen=True)
class Limits:
    """How many images a project may have, and how many bytes of all of them; -1: no limit."""

    images: int = -1
    size: int = -1


class Room:
    """Knows what projects have in a folder, which the caller has locked.

    :param images: reads what is said of all images, whole or not
    """

    def __init__(
        self, path: pathlib.Path, limits: Limits, images: Callable[[], Iterable[Said]]
    ) -> None:
        self._path = path
        self._limits = limits
        self._images = images

    def check(self, owner: str | None, *, images: int, size: int) -> None:
        """Make sure that a project may have so much more; nobody's images have no limit.

        :raises roost.exception.QuotaExceeded: when it may not
        """
        if owner is None or self._limits == Limits():
            return
        mine = self._of(owner)
        _check("images", images, has=len(mine), limit=self._limits.images)
        _check("image_bytes", size, has=self._size(mine), limit=self._limits.size)

    def set_aside(self, image: ImageMeta, part: BinaryIO, size: int) -> int:
        """Let a part of an image have so many bytes, or more; return how many.

        :raises roost.exception.QuotaExceeded: when its project may not have so many
        """
        limit = self._limits.size
        has = self._size(self._of(str(image.owner)), but=pathlib.Path(part.name))
        _check("image_bytes", size, has=has, limit=limit)
        granted = size + min(_AHEAD, (limit - has - size) // _SHARE)
        part.truncate(granted)
        return granted

    def is_limited(self, image: ImageMeta) -> bool:
        """Tell whether data of this image counts."""
        return image.owner is not None and self._limits.size >= 0

    def _of(self, owner: str) -> list[Said]:
        return [said for said in self._images() if said.get("owner") == owner]

    def _size(self, images: Iterable[Said], *, but: pathlib.Path | None = None) -> int:
        """Return how many bytes images have, those included that come, but for one part."""
        sizes = {said["id"]: int(said["size"]) for said in images}
        coming = {part: _coming(part) for part in self._path.glob(_PARTS) if part != but}
        counted = [coming[part] for part in coming if part.name[_UUID] in sizes]
        return sum(sizes.values()) + sum(counted)


@contextlib.contextmanager
def opened(path: pathlib.Path) -> Iterator[BinaryIO]:
    """Write a part of an image, as its writer; it goes at the end, unless it is elsewhere then."""
    try:
        with path.open("wb") as part:
            fcntl.flock(part, fcntl.LOCK_EX)
            yield part
    finally:
        path.unlink(missing_ok=True)


def _coming(path: pathlib.Path) -> int:
    """Return how many bytes are set aside for a part; none, when its writer is gone."""
    try:
        with path.open("rb") as part:
            fcntl.flock(part, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if time.time() - os.fstat(part.fileno()).st_mtime > _OLD:
                path.unlink(missing_ok=True)
            return 0
    except BlockingIOError:
        return path.stat().st_size if path.exists() else 0
    except FileNotFoundError:
        return 0


def _check(resource: str, asked: int, *, has: int, limit: int) -> None:
    if asked and 0 <= limit < has + asked:
        raise exception.QuotaExceeded(
            f"Quota exceeded for {resource}: asked for {asked}, used {has} of {limit}. Delete"
            " images that are not needed, or ask an administrator for a higher limit."
        )
