"""Images created from servers (``createImage``, ``createBackup``); checks of requested images.

The API creates the image in the store, *queued*; the server's host uploads its data. The image's id
is written into the server's row before the store has the image: whatever fails in between, the task
remains, and the component that ends the task also ends the image.
"""

import dataclasses
import uuid
from collections.abc import Mapping
from typing import Any, Final

from roost import exception
from roost.api import service_catalog
from roost.api.compute import quota_resources
from roost.api.dependencies import ApiOptions, Dependencies
from roost.api.locator import ServerRef
from roost.api.policy import MEMBER, Rule
from roost.api.request import Answer, Call
from roost.api.servers import operations
from roost.api.servers.metadata import METADATA
from roost.api.servers.server_action import action
from roost.api.validation import NAME, TEXT, number, of
from roost.db.cell import operations as rows
from roost.image.driver import (
    ACTIVE,
    KERNEL_BYTES,
    KERNEL_ID,
    QUEUED,
    RAMDISK_ID,
)
from roost.objects import ImageMeta, Instance, OperationParams
from roost.operations.kinds import CREATE_BACKUP, CREATE_IMAGE
from roost.operations.shelve_kinds import SHELVE
from roost.operations.steps import Kind

_MISSING: Final = "Image {} could not be found."


def usable(
    call: Call, dependencies: Dependencies, image_id: str, *, missing: str = _MISSING
) -> ImageMeta:
    """Return an active image that the caller may use, with its kernel and ramdisk if any.

    :param missing: the message when it does not exist
    :raises roost.exception.Invalid: when there is none
    """
    image = _active(call, dependencies, image_id, missing)
    _check_named(call, dependencies, image)
    return image


def _check_named(call: Call, dependencies: Dependencies, image: ImageMeta) -> None:
    """Check that the caller may also use an image's kernel and ramdisk, and their sizes.

    :raises roost.exception.Invalid: naming the property, otherwise
    """
    for name in (KERNEL_ID, RAMDISK_ID):
        if named := image.properties.get(name, "").strip():
            try:
                _check_small(_active(call, dependencies, named, _MISSING))
            except exception.Invalid as error:
                raise exception.Invalid(f"{name} of image {image.id}: {error.message}") from error


def _check_small(image: ImageMeta) -> None:
    if image.size > KERNEL_BYTES:
        raise exception.Invalid(
            f"Image {image.id} has {image.size} bytes, and may have {KERNEL_BYTES} at most."
        )


def _active(call: Call, dependencies: Dependencies, image_id: str, missing: str) -> ImageMeta:
    try:
        image = dependencies.images.get(call.context, image_id)
    except (exception.NotFound, exception.Forbidden) as error:
        raise exception.Invalid(missing.format(image_id)) from error
    if image.status != ACTIVE:
        raise exception.Invalid(f"Image {image_id} is not active.")
    return image


def check_verification(options: ApiOptions) -> None:
    """Make sure that this cloud can verify the signatures of images.

    :raises roost.exception.Invalid: when it cannot
    """
    if not options.verifies_images:
        raise exception.Invalid(
            "This cloud cannot verify signatures of images: leave trusted_image_certificates out."
        )


_ID_SINCE: Final = 45
_ROTATION: Final = "backup_rotation"  # for the host, see compute/operations/snapshot.py
# Properties of the server's base image that do not apply to images of the server.
_NOT_INHERITED: Final = ("img_signature", "cache_in_nova", "bittorrent", "os_hash", "backup_")


@dataclasses.dataclass(frozen=True)
class ImageRequest:
    """A requested image: its operation, name and properties.

    ``rotation``: the number of backups to keep; None: it is not a backup.
    """

    kind: Kind
    name: str
    properties: Mapping[str, str]
    rotation: int | None = None


class ServerSnapshot:
    """The actions ``createImage`` and ``createBackup``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies

    def create_image(self, call: Call, server_ref: ServerRef) -> Answer:
        """Write the task into the row, create the image in the store, and cast to the host.

        :raises roost.exception.Conflict: when the server's state does not allow the action
        :raises roost.exception.QuotaExceeded: when the image has too much metadata
        """
        asked = call.body["createImage"]
        properties = {"image_type": "snapshot", **self._metadata(asked, server_ref.instance)}
        order = ImageRequest(CREATE_IMAGE, asked["name"], properties)
        return self._answer(call, server_ref, order)

    def create_backup(self, call: Call, server_ref: ServerRef) -> Answer:
        """Do the same for a backup, which replaces the oldest one of its type."""
        asked = call.body["createBackup"]
        metadata = self._metadata(asked, server_ref.instance)
        kind = {"image_type": "backup", "backup_type": asked["backup_type"]}
        return self._answer(
            call,
            server_ref,
            ImageRequest(
                CREATE_BACKUP,
                name=asked["name"],
                properties={**metadata, **kind},
                rotation=int(asked["rotation"]),
            ),
        )

    def _answer(self, call: Call, server_ref: ServerRef, order: ImageRequest) -> Answer:
        image = self.start(call, server_ref, order)
        root = service_catalog.images_root(call, self._dependencies.images)
        return _answer(call, image, order, root=root)

    def start(self, call: Call, server_ref: ServerRef, order: ImageRequest) -> ImageMeta:
        """Begin the operation, and create its image without data in the store.

        :raises roost.exception.Conflict: when the server's state does not allow the action
        """
        image = self._image(call, server_ref.instance, order)
        rotated = _with_rotation(image, order.rotation)
        operation = operations.accept(
            self._dependencies,
            call,
            server_ref,
            order.kind,
            params=OperationParams.of(image=rotated),
            changes={"shelved_image_id": image.id} if order.kind is SHELVE else None,
        )
        try:
            self._describe(call, server_ref, image)
        finally:  # a host that finds no such image ends the task
            operations.send(call, server_ref, operation)
        return image

    def _describe(self, call: Call, server_ref: ServerRef, image: ImageMeta) -> None:
        """Create the image in the store.

        :raises roost.exception.Conflict: when its task ended meanwhile; the image is abandoned
        """
        self._dependencies.images.create(call.context, image)
        if not _is_awaited(server_ref, image):
            self._dependencies.images.abandon(call.context, image.id)
            raise exception.Conflict(
                f"Instance {server_ref.instance.uuid} was changed before its image was created."
            )

    def _image(self, call: Call, instance: Instance, order: ImageRequest) -> ImageMeta:
        base, now = instance.image, self._dependencies.now()
        return ImageMeta.of(
            id=str(uuid.uuid4()),
            name=order.name,
            status=QUEUED,
            visibility="private",
            owner=instance.project_id,
            disk_format=base.disk_format if base else "raw",
            container_format=base.container_format if base else "bare",
            size=0,
            hash_algo=None,
            hash_value=None,
            min_ram=base.min_ram if base else 0,
            min_disk=max(base.min_disk if base else 0, instance.flavor.root_gb),
            properties={
                **_inherited(instance),
                "user_id": call.context.user_id,
                **order.properties,
            },
            created_at=now,
            updated_at=now,
        )

    def _metadata(self, asked: Mapping[str, Any], instance: Instance) -> Mapping[str, str]:
        """Return the image's metadata of the request.

        :raises roost.exception.QuotaExceeded: when it is too much
        """
        metadata: Mapping[str, str] = asked.get("metadata") or {}
        with self._dependencies.api_database.read() as session:
            limits = self._dependencies.options.quota
            most = quota_resources.read(session, instance, defaults=limits)
        quota_resources.check(metadata, most=most)
        return metadata


def _is_awaited(server_ref: ServerRef, image: ImageMeta) -> bool:
    """Return whether a task is still to create this image; True if the cell is unavailable."""
    assert server_ref.cell is not None
    try:
        return server_ref.cell.database.query(
            rows.waits_for_image, str(server_ref.instance.uuid), image.id
        )
    except exception.Unavailable:
        return True


def _inherited(instance: Instance) -> dict[str, str]:
    """Return the image's properties about the server and the server's base image."""
    properties = {"instance_uuid": str(instance.uuid), "owner_id": instance.project_id}
    if instance.image is None:
        return properties
    before = {
        name: value
        for name, value in instance.image.properties.items()
        if not name.startswith(_NOT_INHERITED)
    }
    return {**before, **properties, "base_image_ref": instance.image.id}


def _with_rotation(image: ImageMeta, rotation: int | None) -> ImageMeta:
    if rotation is None:
        return image
    properties = {**image.properties, _ROTATION: str(rotation)}
    return ImageMeta.of(**image.values() | {"properties": properties})


def _answer(call: Call, image: ImageMeta, order: ImageRequest, *, root: str) -> Answer:
    """Return the image's id; before 2.45 its URL, unless it is a backup with rotation 0."""
    if call.version >= _ID_SINCE:
        return Answer({"image_id": image.id})
    if order.rotation == 0:
        return Answer()
    return Answer(headers={"Location": f"{root}/images/{image.id}"})


_CREATE_IMAGE: Final = of({"name": NAME, "metadata": METADATA}, required=["name"])
_CREATE_BACKUP: Final = of(
    {"name": NAME, "backup_type": TEXT, "rotation": number(0), "metadata": METADATA},
    required=["name", "backup_type", "rotation"],
)

ACTIONS: Final = (
    action(
        "createImage",
        lambda dependencies: ServerSnapshot(dependencies).create_image,
        Rule("os_compute_api:servers:create_image", MEMBER, "Create an image of a server."),
        _CREATE_IMAGE,
        despite_lock=True,
    ),
    action(
        "createBackup",
        lambda dependencies: ServerSnapshot(dependencies).create_backup,
        Rule(
            "os_compute_api:os-create-backup",
            MEMBER,
            "Create a backup of a server, and rotate its backups.",
        ),
        _CREATE_BACKUP,
        despite_lock=True,
    ),
)
