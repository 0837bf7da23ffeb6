"""Images and backups of servers: uploads a guest's disk to the image store.

The API has created the image there, *queued*, and the row names it; this host uploads its data,
once and whole. If that fails, the image is deleted; an image that has its data stays, even if a
later step fails. A backup replaces the oldest of its type.
"""

import logging
from typing import BinaryIO, Final

from roost import exception, states
from roost.compute.host import Host
from roost.compute.leases import LostLease
from roost.compute.operations.tasks import GuestTask, step
from roost.compute.virt.driver import SnapshotsGuests
from roost.context import RequestContext
from roost.image.driver import ACTIVE
from roost.objects import ImageMeta

LOG = logging.getLogger(__name__)
ROTATION: Final = "backup_rotation"  # only in the row: the number of backups of a type to keep
_BACKUP_OF: Final = ("image_type", "backup_type", "instance_uuid")


@step
def snapshot(task: GuestTask) -> None:
    """Upload the disk of a guest, and delete the oldest backups above the rotation."""
    try:
        _take(task)
    except LostLease:
        if not task.is_wanted():
            forget(task.host, context=task.context, image_id=task.image.id)
        raise
    except Exception:
        forget(task.host, context=task.context, image_id=task.image.id)
        raise
    if ROTATION in task.image.properties:
        _rotate(task)


def forget(host: Host, *, context: RequestContext, image_id: str) -> None:
    """Delete an image whose data was not uploaded; one that has its data stays."""
    try:
        host.store.abandon(context, image_id)
    except exception.RoostError as error:
        LOG.warning("image %s without data could not be deleted: %s", image_id, error.message)


def _take(task: GuestTask) -> None:
    virt = task.host.virt
    if not isinstance(virt, SnapshotsGuests):
        raise exception.Unsupported("The hypervisor of this server cannot make images of it.")
    if task.host.store.get(task.context, task.image.id).status == ACTIVE:
        return  # it was uploaded before, and the report was lost
    task.go_on(states.IMAGE_SNAPSHOT)
    with virt.snapshot(task.uuid, disk_format=task.image.disk_format) as disk:
        task.go_on(states.IMAGE_PENDING_UPLOAD)
        _upload(task, disk)


def _upload(task: GuestTask, disk: BinaryIO) -> None:
    task.go_on(states.IMAGE_UPLOADING)
    image = task.host.store.upload(task.context, task.image.id, disk)
    LOG.info("%s: image %s uploaded, %d bytes", task, image.id, image.size)


def _rotate(task: GuestTask) -> None:
    """Delete the oldest backups of this type; the next backup retries failed deletes."""
    most = int(task.image.properties[ROTATION])
    found = [image for image in task.host.store.list_images(task.context) if _is_alike(task, image)]
    for image in found[: max(0, len(found) - most)]:
        try:
            task.host.store.delete(task.context, image.id)
        except exception.RoostError as error:
            LOG.warning("%s: cannot delete the old backup %s: %s", task, image.id, error.message)
        else:
            LOG.info("%s: the old backup %s is deleted", task, image.id)


def _is_alike(task: GuestTask, image: ImageMeta) -> bool:
    """Return whether an image is such a backup; other projects may set any properties."""
    wanted = task.image.properties
    same = all(image.properties.get(name) == wanted.get(name) for name in _BACKUP_OF)
    return same and image.owner == task.instance.project_id and image.status == ACTIVE
