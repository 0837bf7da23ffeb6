"""The image cache of a host: fetches images from the store, verifies them, and removes unused ones.

An image may name a kernel and a ramdisk to boot its guests with.
"""

import hashlib
import logging
import os
import pathlib
import threading
import time
from collections.abc import Sequence
from typing import BinaryIO, Final

from roost import exception
from roost.compute.bounded_folder import BoundedFolder
from roost.compute.locks import Locks
from roost.compute.virt.driver import Kernel
from roost.context import RequestContext
from roost.image.driver import KERNEL_BYTES, KERNEL_ID, RAMDISK_ID, ImageStore
from roost.image.signatures import Signatures
from roost.objects import ImageMeta

LOG = logging.getLogger(__name__)
_PARTS: Final = 4  # images may have a quarter of the file system
_CHUNK: Final = 1 << 20  # bytes
_TRIES: Final = 3  # then another host may have a better connection to the store
_FINAL: Final = (exception.NotFound, exception.Forbidden, exception.Conflict, exception.Invalid)


class Damaged(exception.Unavailable):
    """The data received is not the image; perhaps it was damaged on the way, so it is retried."""


class ImageCache:
    """Keeps images in ``folder``, named by hash: a file under such a name is complete and verified.

    An image of which the store has no hash is named by its id and size.

    :param folder: this host's own, created when first needed
    :param pause: seconds before the second try; twice as long before the third
    :param signatures: verifies signatures where requested; None: that is not possible
    :param lifetime: seconds after which an unused image is removed; 0: never
    :param most: limit in bytes of all images; 0: no limit; None: a quarter of the file system,
        exceeded only by images that builds use
    """

    def __init__(
        self,
        store: ImageStore,
        *,
        folder: str | os.PathLike[str],
        pause: float = 1.0,
        lifetime: float = 0.0,
        most: int | None = None,
        signatures: Signatures | None = None,
    ) -> None:
        self._store = store
        self._folder = BoundedFolder(folder, most=most, parts=_PARTS, suffix=".img")
        self._pause = pause
        self._lifetime = lifetime
        self._signatures = signatures or Signatures()
        self._locks = Locks()

    def ensure(
        self,
        context: RequestContext,
        image: ImageMeta,
        *,
        stopping: threading.Event,
        trusted: Sequence[str] = (),
        user: object,
    ) -> pathlib.Path:
        """Return the path of the image on this host, fetching it if necessary.

        When several builds need it at once, one of them fetches it and the others wait.

        :param stopping: once set, fetching ends before the next chunk
        :param trusted: ids of certificates that must validate its signature; none: the default
        :param user: protects it from removal until :meth:`release`, even if fetching fails
        :raises roost.exception.BuildFailed: final when no host can fetch the image: it is deleted,
            not active, not visible to the caller, or has no valid signature. Failed transfers and
            a lack of space are reschedulable.
        """
        path = self._folder.file(_key(image))
        self._folder.use(path, user)
        with self._locks.hold(path.name):
            if not path.exists():
                self._retry(context, image, path=path, stopping=stopping)
            now = time.time()
            os.utime(path, (now, now))
        self._verify(image, path, trusted)
        return path

    def release(self, user: object) -> None:
        """Release the images of a user: those without other users may be removed.

        Guests do not need them: drivers have copied them.
        """
        self._folder.release(user)

    def clear(self) -> None:
        """Remove incomplete images of a daemon that was killed; no thread may fetch meanwhile."""
        self._folder.clear()

    def tidy(self) -> None:
        """Remove images that were unused for ``lifetime``; builds may begin meanwhile."""
        self._folder.tidy(self._lifetime)

    def find(self, context: RequestContext, image_id: str) -> ImageMeta:
        """Return the metadata of an image that another image names.

        :raises roost.exception.BuildFailed: as of :meth:`ensure`
        """
        nameless = ImageMeta.of(id=image_id, name="named by another")
        try:
            return self._get(context, image_id)
        except _FINAL as error:
            raise _failed(nameless, error, reschedulable=False) from error
        except (exception.Unavailable, exception.Unauthenticated) as error:
            raise _failed(nameless, error, reschedulable=True) from error

    def _get(self, context: RequestContext, image_id: str) -> ImageMeta:
        try:
            return self._store.get(context, image_id)
        except exception.Unauthenticated:  # a token may expire during a build
            return self._store.get(context.without_token(), image_id)

    def _verify(self, image: ImageMeta, path: pathlib.Path, trusted: Sequence[str]) -> None:
        try:
            self._signatures.check(image, path, trusted=trusted)
        except (exception.Invalid, exception.Unavailable) as error:
            is_final = isinstance(error, exception.Invalid)
            raise _failed(image, error, reschedulable=not is_final) from error

    def _retry(
        self,
        context: RequestContext,
        image: ImageMeta,
        *,
        path: pathlib.Path,
        stopping: threading.Event,
    ) -> None:
        asking = context
        for tried in range(1, _TRIES + 1):
            try:
                self._fetch(asking, image, path=path, stopping=stopping)
            except _FINAL as error:
                raise _failed(image, error, reschedulable=False) from error
            except exception.NoCapacity as error:
                text = f"The host had no room for the image {image.id}, of {image.size} bytes."
                raise _failed(image, error, reschedulable=True, for_user=text) from error
            except (exception.Unavailable, exception.Unauthenticated) as error:
                if isinstance(error, exception.Unauthenticated):  # a token may expire meanwhile
                    asking = context.without_token()
                LOG.warning(
                    "image %s, try %d of %d: %s %s",
                    image.id,
                    tried,
                    _TRIES,
                    error.message,
                    error.details or "",
                )
                if tried == _TRIES or stopping.wait(self._pause * tried):
                    raise _failed(image, error, reschedulable=True) from error
            else:
                return

    def _fetch(
        self,
        context: RequestContext,
        image: ImageMeta,
        *,
        path: pathlib.Path,
        stopping: threading.Event,
    ) -> None:
        with self._folder.room(path, image.size) as partial:
            with self._store.open(context, image.id) as source, partial.open("wb") as target:
                found = _copy(source, target, image=image, stopping=stopping)
            _check(image, found)
        LOG.info("image %s (%s) fetched, %d bytes", image.id, image.name, image.size)


class _Length:
    """Replaces a hash where there is none: counts the bytes received."""

    def __init__(self) -> None:
        self._length = 0

    def update(self, data: bytes) -> None:
        self._length += len(data)

    def hexdigest(self) -> str:
        return f"{self._length} bytes"


def _key(image: ImageMeta) -> str:
    if image.hash_value is None:
        return f"{image.id}-{image.size}"
    return f"{image.hash_algo}-{image.hash_value}"


def _digest(image: ImageMeta) -> "hashlib._Hash | _Length":
    return _Length() if image.hash_value is None else hashlib.new(str(image.hash_algo))


def _copy(
    source: BinaryIO, target: BinaryIO, *, image: ImageMeta, stopping: threading.Event
) -> str:
    """Copy the data, at most the image's size, and return its digest."""
    digest, left = _digest(image), image.size
    while chunk := source.read(_CHUNK):
        if stopping.is_set():
            raise exception.Unavailable("the fetch was cancelled")
        left -= len(chunk)
        if left < 0:
            raise Damaged(f"it is damaged: it should be {image.size} bytes, but is more")
        target.write(chunk)
        digest.update(chunk)
    target.flush()
    os.fsync(target.fileno())
    return digest.hexdigest()


def _check(image: ImageMeta, found: str) -> None:
    expected = image.hash_value or f"{image.size} bytes"
    if found != expected:
        raise Damaged(f"it is damaged: it should be {expected}, but is {found}")


def _failed(
    image: ImageMeta,
    error: exception.RoostError,
    *,
    reschedulable: bool,
    for_user: str | None = None,
) -> exception.BuildFailed:
    return exception.BuildFailed(
        f"Image {image.id} ({image.name}) cannot be fetched: {error.message}",
        reschedulable=reschedulable,
        user_reason=for_user,
    )


_COMMAND_LINE: Final = "os_command_line"


def fetch(
    images: ImageCache,
    context: RequestContext,
    image: ImageMeta,
    *,
    stopping: threading.Event,
    trusted: Sequence[str] = (),
    user: object,
) -> Kernel | None:
    """Return the kernel that an image names, fetched to this host; None: it names none.

    :param trusted: as for :meth:`ImageCache.ensure`
    :param user: as for :meth:`ImageCache.ensure`
    :raises roost.exception.BuildFailed: final when no host can fetch it
    """
    ids = {name: image.properties.get(name, "").strip() for name in (KERNEL_ID, RAMDISK_ID)}
    if ids[RAMDISK_ID] and not ids[KERNEL_ID]:
        raise exception.BuildFailed(
            f"Image {image.id} has a {RAMDISK_ID}, which needs a {KERNEL_ID}.", reschedulable=False
        )
    if not ids[KERNEL_ID]:
        return None

    def fetched(name: str) -> pathlib.Path:
        found = images.find(context, ids[name])
        if found.size > KERNEL_BYTES:
            raise exception.BuildFailed(
                f"{name} of image {image.id} names an image of {found.size} bytes; the limit is"
                f" {KERNEL_BYTES}.",
                reschedulable=False,
            )
        return images.ensure(context, found, stopping=stopping, trusted=trusted, user=user)

    return Kernel(
        fetched(KERNEL_ID),
        ramdisk=fetched(RAMDISK_ID) if ids[RAMDISK_ID] else None,
        command_line=image.properties.get(_COMMAND_LINE),
    )
