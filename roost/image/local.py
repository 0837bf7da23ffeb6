"""Images in a folder: ``<uuid>.json`` says what ``<uuid>.img`` is.

The data is put in place before the description, and the description goes first when an image is
deleted. So an image is there when its description is, and whoever is interrupted leaves at most a
file that nobody lists.
"""

import contextlib
import datetime
import hashlib
import json
import logging
import os
import pathlib
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final, Self

from oslo_config import cfg

from roost import exception
from roost.image.driver import DISK_FORMATS, VISIBILITIES
from roost.objects import ImageMeta

LOG = logging.getLogger(__name__)
_CHUNK: Final = 1 << 20  # bytes


class LocalImageStore:
    """An :class:`roost.image.driver.ImageStore` in one folder, made when first added to.

    Several daemons may share the folder, by a network file system as well.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path)

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        return cls(conf.image.local_path or pathlib.Path(conf.state_path, "images"))

    def list_images(self) -> list[ImageMeta]:
        """Return all whole images, the oldest first; a damaged one is logged and left out."""
        found = []
        for name in self._described():
            try:
                found.append(self.get(name))
            except exception.NotFound:  # deleted while we looked
                continue
            except exception.Internal as error:
                LOG.error("left out of the list of images: %s", error.message)  # noqa: TRY400
        return sorted(found, key=lambda image: (image.created_at, image.id))

    def get(self, image_id: str) -> ImageMeta:
        description = self._file(image_id, "json")
        try:
            image = _image(json.loads(description.read_text()))
            size = self._file(image_id, "img").stat().st_size
        except FileNotFoundError as error:
            if not description.exists():
                raise _not_found(image_id) from error
            raise exception.Internal(
                f"image {image_id} has lost its data, {error.filename}"
            ) from error
        except (ValueError, TypeError, KeyError, OSError) as error:
            raise exception.Internal(f"the image file {description} is damaged: {error}") from error
        if size != image.size:
            raise exception.Internal(
                f"image {image_id} is damaged: its data has {size} bytes, not {image.size}"
            )
        return image

    def add(
        self,
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
        _check(disk_format, visibility, min_ram=min_ram, min_disk=min_disk)
        now = datetime.datetime.now(datetime.UTC)
        image = ImageMeta.of(
            id=str(uuid.uuid4()),
            name=name,
            status="active",
            visibility=visibility,
            owner=owner,
            disk_format=disk_format,
            container_format=container_format,
            min_ram=min_ram,
            min_disk=min_disk,
            properties=dict(properties or {}),
            created_at=now,
            updated_at=now,
        )
        self._store(image, data)
        return image

    def delete(self, image_id: str) -> None:
        try:
            self._file(image_id, "json").unlink()
        except FileNotFoundError as error:
            raise _not_found(image_id) from error
        self._file(image_id, "img").unlink(missing_ok=True)

    def open(self, image_id: str) -> BinaryIO:
        self.get(image_id)
        return self._file(image_id, "img").open("rb")

    def _described(self) -> list[str]:
        """Return the ids of all descriptions; a folder that is not there yet has none."""
        try:
            return [entry.stem for entry in self.path.glob("*.json") if _is_uuid(entry.stem)]
        except OSError as error:
            raise exception.Unavailable(f"images in {self.path} cannot be read: {error}") from error

    def _store(self, image: ImageMeta, data: BinaryIO) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        with _put_in_place(self._file(image.id, "img")) as file:
            image.size, image.sha256 = _copy(data, file)
        image.obj_reset_changes()
        with _put_in_place(self._file(image.id, "json")) as file:
            file.write(json.dumps(_plain(image), indent=2).encode())

    def _file(self, image_id: str, kind: str) -> pathlib.Path:
        if not _is_uuid(image_id):  # nor may it lead out of the folder
            raise _not_found(image_id)
        return self.path / f"{image_id}.{kind}"


def _check(disk_format: str, visibility: str, **sizes: int) -> None:
    if disk_format not in DISK_FORMATS:
        known = ", ".join(sorted(DISK_FORMATS))
        raise exception.Invalid(f"Disk format {disk_format!r} is not one of {known}.")
    if visibility not in VISIBILITIES:
        known = ", ".join(sorted(VISIBILITIES))
        raise exception.Invalid(f"Visibility {visibility!r} is not one of {known}.")
    for name, size in sizes.items():
        if size < 0:
            raise exception.Invalid(f"{name} must not be negative, but is {size}.")


@contextlib.contextmanager
def _put_in_place(path: pathlib.Path) -> Iterator[BinaryIO]:
    """Write a file that is seen complete, and on the disk, or not at all."""
    partial = path.with_name(f".{path.name}.part")
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
    """Copy all, and return how many bytes that were and their checksum."""
    digest, size = hashlib.sha256(), 0
    while chunk := source.read(_CHUNK):
        target.write(chunk)
        digest.update(chunk)
        size += len(chunk)
    return size, digest.hexdigest()


def _plain(image: ImageMeta) -> dict[str, Any]:
    values = image.values()
    for name in ("created_at", "updated_at"):
        values[name] = values[name].isoformat()
    return values


def _image(values: dict[str, Any]) -> ImageMeta:
    return ImageMeta.of(**{name: values[name] for name in ImageMeta.fields})


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _not_found(image_id: str) -> exception.NotFound:
    return exception.NotFound(f"Image {image_id} could not be found.")
