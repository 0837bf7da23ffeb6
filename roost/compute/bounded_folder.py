"""A folder of files with a limit in bytes: the least recently used files are evicted."""

import contextlib
import glob
import logging
import os
import pathlib
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

from roost import exception

LOG = logging.getLogger(__name__)
_BLOCK: Final = 512  # bytes, as ``st_blocks`` counts


class BoundedFolder:
    """Keeps whole files; the mtime of a file is when it was last used.

    This process knows which files are in use and which are being written.

    :param path: created when first needed
    :param most: limit in bytes of all files, including those being written; 0: no limit; None: the
        file system's size divided by ``parts``, exceeded only by files in use
    :param suffix: of whole files; ``part``: of files being written, which no other process may
        write
    :param in_use: returns the names of further files in use, beside those of :meth:`use`; when it
        raises, no file is removed
    :param young: seconds after its last use in which a file is not evicted, for folders that other
        processes use, too
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        most: int | None,
        parts: int,
        suffix: str,
        part: str = ".part",
        in_use: Callable[[], Collection[str]] = tuple,
        young: float = 0.0,
    ) -> None:
        self.path = pathlib.Path(path)
        self._most = most
        self._parts = parts
        self._suffix = suffix
        self._part = part
        self._in_use = in_use
        self._young = young
        self._lock = threading.Lock()
        self._users: dict[pathlib.Path, set[object]] = {}
        self._coming: dict[pathlib.Path, int] = {}

    def file(self, name: str) -> pathlib.Path:
        """Return the path of a file, whether it exists or not."""
        return self.path / f"{name}{self._suffix}"

    def use(self, path: pathlib.Path, user: object) -> None:
        """Protect a file, which need not exist yet, from removal until its user releases it."""
        with self._lock:
            self._users.setdefault(path, set()).add(user)

    def release(self, user: object) -> None:
        """Release all files of a user; an unknown user is fine."""
        with self._lock:
            for path in [*self._users]:
                self._users[path].discard(user)
                if not self._users[path]:
                    del self._users[path]

    @contextlib.contextmanager
    def room(self, path: pathlib.Path, size: int) -> Iterator[pathlib.Path]:
        """Yield the path to write a file of ``size`` bytes to; rename it when it is whole.

        Unused files are removed for it, but only if that frees enough space. A file that is
        incomplete when the block ends is removed.

        :param size: bytes that will be written, not counting holes
        :raises roost.exception.NoCapacity: when removing all unused files would not free enough
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with self._lock:
            self._make_room(size)
            self._coming[path] = size
        partial = path.with_suffix(self._part)
        try:
            yield partial
            partial.rename(path)
        finally:
            partial.unlink(missing_ok=True)
            with self._lock:
                del self._coming[path]

    def clear(self) -> None:
        """Remove incomplete files of a daemon that was killed; no thread may write meanwhile."""
        for left in self.path.glob(f"*{glob.escape(self._part)}"):
            left.unlink(missing_ok=True)

    def tidy(self, lifetime: float) -> None:
        """Remove files unused for ``lifetime`` seconds (0: no limit), and those above the limit.

        They may be above it because an operator has lowered it.
        """
        with self._lock:
            if lifetime:
                self._remove_old(lifetime)
            with contextlib.suppress(exception.NoCapacity):  # the rest is in use
                self._make_room(0)

    def _remove_old(self, lifetime: float) -> None:
        used = self._used()
        for path in self._files():
            with contextlib.suppress(FileNotFoundError):  # another process was first
                if path.name in used:
                    os.utime(path)
                elif _age(path) > lifetime:
                    path.unlink()
                    LOG.info("%s is removed: it was unused for too long", path.name)

    def _make_room(self, size: int) -> None:
        most, free = self._bound(), self._free()
        sizes = self._files()
        stays = sum(sizes.values()) + sum(self._coming.values())
        lacking = self._lacks(size, stays, most=most, free=free)
        used, going = self._used() if lacking else set[str](), []
        for path in sizes:
            if not self._lacks(size, stays, most=most, free=free):
                break
            if path.suffix != self._suffix or path.name in used:
                continue
            if self._young and _age(path) < self._young:
                continue
            going.append(path)
            stays, free = stays - sizes[path], free + sizes[path]
        if size > free:
            raise exception.NoCapacity(
                f"it has {size} bytes, and {max(0, free)} are free for all {self.path.name} of this"
                " host"
            )
        if self._most and stays + size > most:
            raise exception.NoCapacity(
                f"it has {size} bytes, and all {self.path.name} of this host may have {most}, of"
                f" which {stays} are in use or being written"
            )
        for path in going:
            path.unlink(missing_ok=True)
            LOG.info("%s is removed to make room for another", path.name)

    def _lacks(self, size: int, stays: int, *, most: int, free: int) -> bool:
        return size > free or bool(most and stays + size > most)

    def _bound(self) -> int:
        return self._disk().total // self._parts if self._most is None else self._most

    def _free(self) -> int:
        """Return the bytes that are left once all files being written here are whole."""
        coming = self._coming.items()
        free: int = self._disk().free
        return free - sum(
            max(0, size - _written(path.with_suffix(self._part))) for path, size in coming
        )

    def _disk(self) -> Any:
        there = next(one for one in (self.path, *self.path.absolute().parents) if one.exists())
        return shutil.disk_usage(there)

    def _used(self) -> set[str]:
        return {*(path.name for path in self._users), *self._in_use()}

    def _files(self) -> dict[pathlib.Path, int]:
        """Return the bytes of each file, the least recently used first.

        Files being written here are left out.
        """
        coming = {each for path in self._coming for each in (path, path.with_suffix(self._part))}
        found = {}
        for path in {*self.path.glob("*")} - coming:
            with contextlib.suppress(FileNotFoundError):  # an operator may remove some
                found[path] = path.stat()
        ordered = sorted(found, key=lambda path: found[path].st_mtime)
        return {path: _bytes(found[path]) for path in ordered}


def _bytes(status: os.stat_result) -> int:
    """Return how many bytes a file takes, not counting holes."""
    return min(status.st_size, status.st_blocks * _BLOCK)


def _written(path: pathlib.Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return _bytes(path.stat())
    return 0


def _age(path: pathlib.Path) -> float:
    """Return how many seconds ago a file was used; 0 when it does not exist."""
    with contextlib.suppress(FileNotFoundError):
        return time.time() - path.stat().st_mtime
    return 0.0
