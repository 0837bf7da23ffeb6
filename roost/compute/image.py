"""The images of a host: fetched once from the store, checked, and kept for the next build."""

import hashlib
import logging
import os
import pathlib
from typing import BinaryIO, Final

from roost import exception
from roost.compute.locks import Locks
from roost.image.driver import ImageStore
from roost.objects import ImageMeta

LOG = logging.getLogger(__name__)
_CHUNK: Final = 1 << 20  # bytes


class ImageCache:
    """Keeps images in ``folder``, each under its checksum: what has the name is whole and right.

    :param folder: this host's own, made when first needed
    """

    def __init__(self, store: ImageStore, *, folder: str | os.PathLike[str]) -> None:
        self._store = store
        self._folder = pathlib.Path(folder)
        self._locks = Locks()

    def ensure(self, image: ImageMeta) -> pathlib.Path:
        """Return where the image is on this host, fetching it if need be.

        However many builds want it at once, one of them fetches it and the others wait.

        :raises roost.exception.BuildFailed: final when the image is gone or not what it should be
        """
        path = self._folder / f"{image.sha256}.img"
        with self._locks.hold(image.sha256):
            if not path.exists():
                self._fetch(image, path)
        return path

    def _fetch(self, image: ImageMeta, path: pathlib.Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        try:
            with self._open(image) as source, partial.open("wb") as target:
                found = _copy(source, target)
            _check(image, found)
            partial.rename(path)
        finally:
            partial.unlink(missing_ok=True)
        LOG.info("image %s (%s) fetched, %d bytes", image.id, image.name, image.size)

    def _open(self, image: ImageMeta) -> BinaryIO:
        try:
            return self._store.open(image.id)
        except exception.NotFound as error:
            raise exception.BuildFailed(
                f"Image {image.id} ({image.name}) is no longer there.", reschedulable=False
            ) from error


def _copy(source: BinaryIO, target: BinaryIO) -> str:
    digest = hashlib.sha256()
    while chunk := source.read(_CHUNK):
        target.write(chunk)
        digest.update(chunk)
    target.flush()
    os.fsync(target.fileno())
    return digest.hexdigest()


def _check(image: ImageMeta, found: str) -> None:
    if found != image.sha256:
        raise exception.BuildFailed(
            f"Image {image.id} ({image.name}) is damaged: its checksum should be {image.sha256},"
            f" but is {found}.",
            reschedulable=False,
        )
