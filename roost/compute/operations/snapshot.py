"""Images and backups of servers: uploads a guest's disk to the image store.

The API has created the image there, *queued*, and the row names it; this host uploads its data,
once and whole. If that fails, the image is deleted; an image that has its data stays, even if a
later step fails. A backup replaces the oldest of its type.
"""

import logging
from typing import BinaryIO, Final

from roost import exception, states
from roost.compute.leases import LostLease
from roost.compute.operations.operation import HostOperation, step
from roost.compute.virt.driver import SnapshotsGuests
from roost.image.driver import ACTIVE, QUEUED
from roost.objects import ImageMeta
from roost.operations import kinds

LOG = logging.getLogger(__name__)
ROTATION: Final = "backup_rotation"  # only in the row: the number of backups of a type to keep
_BACKUP_OF: Final = ("image_type", "backup_type", "instance_uuid")


@step
def snapshot(operation: HostOperation) -> None:
    """Upload the disk of a guest, and delete the oldest backups above the rotation."""
    upload(operation)
    if ROTATION in operation.image.properties:
        _rotate(operation)


def upload(operation: HostOperation) -> None:
    """Upload the disk of a guest, in the last task states of the operation's kind."""
    try:
        _take(operation)
    except LostLease:
        if not operation.take_up():
            forget(operation)
        raise
    except Exception:
        forget(operation)
        raise


def forget(operation: HostOperation) -> None:
    """Delete the image of an operation, if its data was not uploaded; one that has it stays."""
    image = operation.params.image
    if image is None or image.status != QUEUED:
        return
    try:
        operation.host.store.abandon(operation.context, image.id)
    except exception.RoostError as error:
        LOG.warning("image %s without data could not be deleted: %s", image.id, error.message)


def _take(operation: HostOperation) -> None:
    virt = operation.host.virt
    if not isinstance(virt, SnapshotsGuests):
        raise exception.Unsupported("The hypervisor of this server cannot make images of it.")
    if operation.host.store.get(operation.context, operation.image.id).status == ACTIVE:
        return  # it was uploaded before, and the report was lost
    *_, before, pending, uploading = operation.kind.tasks
    if before == states.IMAGE_SNAPSHOT:
        operation.go_on(before)
    with virt.snapshot(operation.uuid, disk_format=operation.image.disk_format) as disk:
        operation.go_on(pending)
        _upload(operation, disk, task=uploading)


def _upload(operation: HostOperation, disk: BinaryIO, *, task: str) -> None:
    operation.go_on(task)
    image = operation.host.store.upload(operation.context, operation.image.id, disk)
    LOG.info("%s: image %s uploaded, %d bytes", operation, image.id, image.size)


def _rotate(operation: HostOperation) -> None:
    """Delete the oldest backups of this type; the next backup retries failed deletes."""
    most = int(operation.image.properties[ROTATION])
    images = operation.host.store.list_images(operation.context)
    found = [image for image in images if _is_alike(operation, image)]
    for image in found[: max(0, len(found) - most)]:
        try:
            operation.host.store.delete(operation.context, image.id)
        except exception.RoostError as error:
            LOG.warning(
                "%s: cannot delete the old backup %s: %s", operation, image.id, error.message
            )
        else:
            LOG.info("%s: the old backup %s is deleted", operation, image.id)


def _is_alike(operation: HostOperation, image: ImageMeta) -> bool:
    """Return whether an image is such a backup; other projects may set any properties."""
    wanted = operation.image.properties
    same = all(image.properties.get(name) == wanted.get(name) for name in _BACKUP_OF)
    return same and image.owner == operation.instance.project_id and image.status == ACTIVE


WORK: Final = {kinds.CREATE_IMAGE: snapshot, kinds.CREATE_BACKUP: snapshot}
