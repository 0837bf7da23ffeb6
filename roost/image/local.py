"""The image store in a folder: ``<uuid>.json`` describes ``<uuid>.img``.

The data is written before the description that calls it active; a deletion removes the
description first. So an image exists if its description does, and an interrupted operation leaves
at most an unlisted file, or an image that is still queued. A change of a description holds the
folder's lock, so no concurrent change is lost.

Images have owners: private images are for their owner's project and for administrators, shared ones
for their members as well, which are in ``<uuid>.members.json``.
"""

import contextlib
import dataclasses
import datetime
import errno
import fcntl
import hashlib
import json
import logging
import os
import pathlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, Final, Self

from oslo_config import cfg

from roost import exception
from roost.context import RequestContext
from roost.image.driver import (
    ACTIVE,
    DISK_FORMATS,
    QUEUED,
    VISIBILITIES,
    EditProperties,
    ImageMember,
    Members,
    is_own,
    is_uuid,
    may_see,
)
from roost.objects import ImageMeta

LOG = logging.getLogger(__name__)
_CHUNK: Final = 1 << 20  # bytes
_ALGORITHM: Final = "sha256"
_OF_DATA: Final = ("status", "size", "hash_algo", "hash_value", "updated_at")
_TIMES: Final = ("created_at", "updated_at")
_LATER: Final = ("tags", "protected")  # missing in descriptions of older releases
_LOCK: Final = ".lock"
_LONGEST: Final = 64 << 10  # bytes of a description: all are read for every list
_PARTS: Final = ".*.part"
_OLD: Final = 24 * 3600.0  # seconds after which no daemon is still writing a part
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class LocalImageStore:
    """An :class:`roost.image.driver.ImageStore` in one folder, created with the first image.

    Several daemons may share the folder, by a network file system as well. Projects have no quota
    in it; the API limits the size of each image.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path)

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        return cls(conf.image.local_path or pathlib.Path(conf.state_path, "images"))

    def list_images(self, context: RequestContext) -> list[ImageMeta]:
        """Return the caller's images, the oldest first; a damaged one is logged and left out."""
        found = []
        for name in self._described():
            try:
                found.append(self.get(context, name))
            except exception.NotFound:  # not the caller's, or deleted meanwhile
                continue
            except exception.Internal as error:
                LOG.error("left out of the list of images: %s", error.message)  # noqa: TRY400
        return sorted(found, key=lambda image: (image.created_at, image.id))

    def get(self, context: RequestContext, image_id: str) -> ImageMeta:
        image = self._seen(context, image_id)
        if image.status != QUEUED:
            self._check_data(image)
        return image

    def open(self, context: RequestContext, image_id: str) -> BinaryIO:
        image = self.get(context, image_id)
        if image.status != ACTIVE:
            raise exception.Conflict(f"Image {image_id} is not active.")
        return self._file(image_id, "img").open("rb")

    def add(
        self,
        context: RequestContext,
        *,
        name: str,
        data: BinaryIO,
        disk_format: str = "raw",
        container_format: str = "bare",
        min_ram: int = 0,
        min_disk: int = 0,
        properties: Mapping[str, str] | None = None,
        visibility: str = "public",
        owner: str | None = None,
    ) -> ImageMeta:
        now = datetime.datetime.now(datetime.UTC)
        image = ImageMeta.of(
            id=str(uuid.uuid4()),
            name=name,
            status=QUEUED,
            visibility=visibility,
            owner=owner,
            disk_format=disk_format,
            container_format=container_format,
            size=0,
            hash_algo=None,
            hash_value=None,
            min_ram=min_ram,
            min_disk=min_disk,
            properties=dict(properties or {}),
            created_at=now,
            updated_at=now,
        )
        _check(image)
        with self._received(image, data) as (partial, whole):
            partial.rename(self._file(image.id, "img"))
            self._describe(whole)
        return whole

    def create(self, context: RequestContext, image: ImageMeta) -> ImageMeta:
        _check(image)
        nothing = {"status": QUEUED, "size": 0, "hash_algo": None, "hash_value": None}
        waiting = _with(image, **nothing)
        with self._locked():
            if self._file(image.id, "json").exists():
                raise exception.Conflict(f"There is an image {image.id} already.")
            self._describe(waiting)
        return waiting

    def upload(self, context: RequestContext, image_id: str, data: BinaryIO) -> ImageMeta:
        waiting = self._waiting(context, image_id)
        with self._received(waiting, data) as (partial, filled), self._locked():
            now = self._waiting(context, image_id)  # it may have changed meanwhile
            whole = _with(now, **{name: getattr(filled, name) for name in _OF_DATA})
            partial.rename(self._file(image_id, "img"))
            self._describe(whole)
        return whole

    def change(
        self, context: RequestContext, image_id: str, edit: Callable[[ImageMeta], ImageMeta]
    ) -> ImageMeta:
        with self._locked():
            image = self._own(context, image_id)
            changed = edit(image)
            _check(changed)
            changed = _with(changed, updated_at=datetime.datetime.now(datetime.UTC))
            self._describe(changed)
        return changed

    def change_properties(
        self, context: RequestContext, image_id: str, edit: EditProperties
    ) -> ImageMeta:
        def edited(image: ImageMeta) -> ImageMeta:
            return _with(image, properties=dict(edit(image.properties)))

        return self.change(context, image_id, edited)

    def abandon(self, context: RequestContext, image_id: str) -> None:
        with contextlib.suppress(exception.NotFound, exception.Conflict):
            self._waiting(context, image_id)  # without such an image, no folder is created
            with self._locked():
                self._waiting(context, image_id)  # it may have got its data meanwhile
                self._remove(image_id)

    def delete(self, context: RequestContext, image_id: str) -> None:
        try:
            self._own(context, image_id)
        except exception.Internal:  # its owner cannot be read
            if not context.is_admin:
                raise
        with self._locked():
            self._refuse_protected(image_id)
            self._remove(image_id)

    def members(self, context: RequestContext, image_id: str) -> Members:
        self._seen(context, image_id)
        return self._members(image_id)

    def change_members(
        self, context: RequestContext, image_id: str, edit: Callable[[Members], Members]
    ) -> None:
        with self._locked():
            self._seen(context, image_id)
            plain = [_plain_member(member) for member in edit(self._members(image_id))]
            with _put_in_place(self._file(image_id, "members.json")) as file:
                file.write(json.dumps(plain, indent=2).encode())

    def _described(self) -> list[str]:
        """Return the ids of all descriptions; a missing folder has none."""
        try:
            return [entry.stem for entry in self.path.glob("*.json") if is_uuid(entry.stem)]
        except OSError as error:
            raise exception.Unavailable(f"images in {self.path} cannot be read: {error}") from error

    def _seen(self, context: RequestContext, image_id: str) -> ImageMeta:
        """Return the description of an image that the caller may see."""
        image = self._read(image_id)
        if not may_see(context, image, lambda: self._members(image_id)):
            raise _not_found(image_id)
        return image

    def _members(self, image_id: str) -> list[ImageMember]:
        kept = self._file(image_id, "members.json")
        try:
            return [_member(values) for values in json.loads(kept.read_text())]
        except FileNotFoundError:  # it was never shared
            return []
        except (ValueError, TypeError, KeyError, OSError) as error:
            raise exception.Internal(f"the image file {kept} is damaged: {error}") from error

    def _refuse_protected(self, image_id: str) -> None:
        """Raise :class:`roost.exception.Forbidden` for a protected image."""
        with contextlib.suppress(exception.Internal):  # its description cannot be read
            if self._read(image_id).protected:
                raise exception.Forbidden(f"Image {image_id} is protected and cannot be deleted.")

    def _read(self, image_id: str) -> ImageMeta:
        description = self._file(image_id, "json")
        try:
            return _image(json.loads(description.read_text()))
        except FileNotFoundError as error:
            raise _not_found(image_id) from error
        except (ValueError, TypeError, KeyError, OSError) as error:
            raise exception.Internal(f"the image file {description} is damaged: {error}") from error

    def _check_data(self, image: ImageMeta) -> None:
        try:
            size = self._file(image.id, "img").stat().st_size
        except FileNotFoundError as error:
            if not self._file(image.id, "json").exists():
                raise _not_found(image.id) from error
            raise exception.Internal(
                f"image {image.id} has lost its data, {error.filename}"
            ) from error
        except OSError as error:
            raise exception.Unavailable(f"image {image.id} cannot be read: {error}") from error
        if size != image.size:
            raise exception.Internal(
                f"image {image.id} is damaged: its data has {size} bytes, not {image.size}"
            )

    def _own(self, context: RequestContext, image_id: str) -> ImageMeta:
        """Return an image that the caller may change."""
        image = self._seen(context, image_id)
        if not is_own(context, image):
            raise exception.Forbidden(f"Image {image_id} belongs to another project.")
        return image

    def _waiting(self, context: RequestContext, image_id: str) -> ImageMeta:
        """Return a queued image.

        :raises roost.exception.Conflict: when it has its data
        """
        image = self._own(context, image_id)
        if image.status != QUEUED:
            raise exception.Conflict(f"Image {image_id} has its data already.")
        return image

    @contextlib.contextmanager
    def _received(
        self, image: ImageMeta, data: BinaryIO
    ) -> Iterator[tuple[pathlib.Path, ImageMeta]]:
        """Copy data to a temporary file; yield its path, and the image as *active*.

        The file is deleted at the end if it still exists, and so are those of daemons that died.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self._clear()
        partial = self.path / f".{image.id}.img.{uuid.uuid4().hex}.part"
        try:
            with partial.open("wb") as file:
                size, value = _copy(data, file)
                file.flush()
                os.fsync(file.fileno())
            now = datetime.datetime.now(datetime.UTC)
            filled = {"size": size, "hash_algo": _ALGORITHM, "hash_value": value}
            yield partial, _with(image, **filled, status=ACTIVE, updated_at=now)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise exception.Unavailable(f"{self.path} has no room for {image.id}") from error
        finally:
            partial.unlink(missing_ok=True)

    def _clear(self) -> None:
        """Delete partial files of daemons that died."""
        for part in self.path.glob(_PARTS):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - part.stat().st_mtime > _OLD:
                    part.unlink()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the folder against other threads and daemons; the lock ends with its process."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / _LOCK).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _describe(self, image: ImageMeta) -> None:
        image.obj_reset_changes()
        with _put_in_place(self._file(image.id, "json")) as file:
            file.write(_text(image))

    def _remove(self, image_id: str) -> None:
        """Delete the description of an image, then its other files; the folder is locked."""
        try:
            self._file(image_id, "json").unlink()
        except FileNotFoundError as error:
            raise _not_found(image_id) from error
        for kind in ("img", "members.json"):
            self._file(image_id, kind).unlink(missing_ok=True)

    def _file(self, image_id: str, kind: str) -> pathlib.Path:
        if not is_uuid(image_id):  # a path could lead out of the folder
            raise _not_found(image_id)
        return self.path / f"{image_id}.{kind}"


def _check(image: ImageMeta) -> None:
    if not is_uuid(image.id):
        raise exception.Invalid(f"Image id {image.id!r} is not a UUID.")
    if image.disk_format not in DISK_FORMATS:
        known = ", ".join(sorted(DISK_FORMATS))
        raise exception.Invalid(f"Disk format {image.disk_format!r} is not one of {known}.")
    if image.visibility not in VISIBILITIES:
        known = ", ".join(sorted(VISIBILITIES))
        raise exception.Invalid(f"Visibility {image.visibility!r} is not one of {known}.")
    for name in ("min_ram", "min_disk"):
        if getattr(image, name) < 0:
            raise exception.Invalid(f"{name} must not be negative.")
    if (size := len(_text(image))) > _LONGEST:
        raise exception.Invalid(
            f"The description of an image, with its properties, has {_LONGEST} bytes at most; this"
            f" one has {size}."
        )


@contextlib.contextmanager
def _put_in_place(path: pathlib.Path) -> Iterator[BinaryIO]:
    """Write a file atomically, and flush it to the disk."""
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
        _sync_folder(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def _sync_folder(folder: pathlib.Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy(source: BinaryIO, target: BinaryIO) -> tuple[int, str]:
    """Copy all, and return the number of bytes and their hash."""
    digest, size = hashlib.new(_ALGORITHM), 0
    while chunk := source.read(_CHUNK):
        size += len(chunk)
        target.write(chunk)
        digest.update(chunk)
    return size, digest.hexdigest()


def _with(image: ImageMeta, **changes: Any) -> ImageMeta:
    return ImageMeta.of(**image.values() | changes)


def _text(image: ImageMeta) -> bytes:
    values = image.values()
    values |= {name: values[name].isoformat() for name in _TIMES}
    return json.dumps(values, indent=2).encode()


def _image(values: dict[str, Any]) -> ImageMeta:
    """Make an image from its description; one of an older release does not have all fields."""
    later = {name for name in _LATER if name not in values}
    return ImageMeta.of(**{name: values[name] for name in ImageMeta.fields if name not in later})


def _plain_member(member: ImageMember) -> dict[str, str]:
    values = dataclasses.asdict(member)
    return values | {name: values[name].isoformat() for name in _TIMES}


def _member(values: dict[str, str]) -> ImageMember:
    times = {name: datetime.datetime.fromisoformat(values[name]) for name in _TIMES}
    return ImageMember(values["project_id"], values["status"], **times)


def _not_found(image_id: str) -> exception.NotFound:
    return exception.NotFound(f"Image {image_id} could not be found.")
