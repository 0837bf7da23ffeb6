"""What a project may have in the folder of the local store: so many images, and bytes of them all.

A file of the folder says which projects have limits of their own, for all daemons that share it.

What it has is counted when more is to come, while the folder is locked: so it is exact, and cannot
drift. Data that comes counts, too. Its file is as long as what is set aside for it, and is locked
by whoever writes it: what is not, was left by somebody who died, and goes.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Final

from roost import exception
from roost.objects import ImageMeta

_AHEAD: Final = 64 << 20  # bytes set aside before they come, at most,
_SHARE: Final = 16  # and not more than one such part of what is left
_OLD: Final = 3600.0  # seconds after which nobody who has just begun is meant
_PARTS: Final = ".*.img.*.part"
_OWN: Final = ".limits.json"
Said = Mapping[str, Any]
_UUID: Final = slice(1, 37)  # of the image, in the name of a part


@dataclasses.dataclass(frozen=True)
class ImageLimits:
    """How many images a project may have, and how many bytes of all of them; -1: no limit."""

    images: int = -1
    size: int = -1


class Room:
    """Knows what projects have in a folder, which the caller has locked.

    :param images: reads what is said of all images, whole or not
    """

    def __init__(
        self, path: pathlib.Path, limits: ImageLimits, images: Callable[[], Iterable[Said]]
    ) -> None:
        self._path = path
        self._limits = limits
        self._images = images

    def check(self, owner: str | None, *, images: int, size: int) -> None:
        """Make sure that a project may have so much more; nobody's images have no limit.

        :raises roost.exception.QuotaExceeded: when it may not
        """
        limits = self.limits(owner)
        if owner is None or limits == ImageLimits():
            return
        mine = self._of(owner)
        _check("images", images, has=len(mine), limit=limits.images)
        _check("image_bytes", size, has=self._size(owner, mine), limit=limits.size)

    def set_aside(self, image: ImageMeta, part: BinaryIO, size: int) -> int:
        """Let a part of an image have so many bytes, or more; return how many.

        :raises roost.exception.QuotaExceeded: when its project may not have so many
        """
        owner = str(image.owner)
        limit = self.limits(owner).size
        has = self._size(owner, self._of(owner), but=pathlib.Path(part.name))
        _check("image_bytes", size, has=has, limit=limit)
        ahead = _AHEAD if limit < 0 else min(_AHEAD, (limit - has - size) // _SHARE)
        granted = size + ahead
        part.truncate(granted)
        return granted

    def is_limited(self, image: ImageMeta) -> bool:
        """Tell whether data of this image counts."""
        return image.owner is not None and self.limits(image.owner).size >= 0

    def limits(self, owner: str | None) -> ImageLimits:
        """Return the limits of a project: its own, as far as it has any."""
        own = {} if owner is None else self._own().get(owner, {})
        return dataclasses.replace(self._limits, **own)

    def usage(self, owner: str) -> ImageLimits:
        """Return how many images a project has, and how many bytes of them."""
        mine = self._of(owner)
        return ImageLimits(images=len(mine), size=self._size(owner, mine))

    def with_own(self, owner: str, changes: Mapping[str, int | None]) -> tuple[pathlib.Path, bytes]:
        """Return what is to be in which file when a project has these limits of its own.

        :param changes: by the names of :class:`ImageLimits`; None: as all others again
        """
        own = self._own()
        changed = {**own.get(owner, {}), **changes}
        own[owner] = {name: limit for name, limit in changed.items() if limit is not None}
        kept = {project: limits for project, limits in own.items() if limits}
        return self._path / _OWN, json.dumps(kept, indent=2).encode()

    def _own(self) -> dict[str, dict[str, int]]:
        """Return what is said of the limits of single projects."""
        try:
            said: dict[str, dict[str, int]] = json.loads((self._path / _OWN).read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise exception.Internal(f"{self._path / _OWN} cannot be read: {error}") from error
        return said

    def _of(self, owner: str) -> list[Said]:
        return [said for said in self._images() if said.get("owner") == owner]

    def _size(self, owner: str, images: Iterable[Said], *, but: pathlib.Path | None = None) -> int:
        """Return how many bytes a project's images have, with those that come, but for one part.

        Those count, too, that come for an image which was deleted meanwhile.
        """
        sizes, mark = {said["id"]: int(said["size"]) for said in images}, _mark(owner)
        coming = {part: _coming(part) for part in self._path.glob(_PARTS) if part != but}
        counted = [
            coming[part]
            for part in coming
            if mark in part.name or part.name[_UUID] in sizes  # one that was given to the project
        ]
        return sum(sizes.values()) + sum(counted)


def part_of(image: ImageMeta) -> str:
    """Return a name for a file that data of an image is to be in until it is whole."""
    return f".{image.id}.img.{_mark(image.owner)}.{uuid.uuid4().hex}.part"


def _mark(owner: str | None) -> str:
    """Return what stands for a project in the name of a part, whatever it is called."""
    return hashlib.sha256(str(owner).encode()).hexdigest()[:32]


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
