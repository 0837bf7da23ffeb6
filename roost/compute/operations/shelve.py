"""Shelving, and what brings a shelved server back.

Shelved, the guest is stopped and its disk is an image. Offloaded, nothing of it is left here; the
schedulers then choose the host that makes a guest from the image. The image goes once the cell
knows that the guest is there.
"""

import logging
from typing import Final

from roost import exception, states
from roost.compute.leases import LostLease
from roost.compute.operations import snapshot
from roost.compute.operations.delete import remove
from roost.compute.operations.move import bind, spawn
from roost.compute.operations.operation import HostOperation, step
from roost.operations import shelve_kinds

LOG = logging.getLogger(__name__)


@step
def shelve(operation: HostOperation) -> None:
    """Stop the guest and upload its disk; if that fails, one that ran runs on."""
    virt = operation.host.virt
    virt.power_off(operation.uuid)
    try:
        snapshot.upload(operation)
    except LostLease:
        raise
    except Exception:
        if operation.instance.vm_state == states.ACTIVE:
            virt.power_on(operation.uuid)
        raise


@step
def shelve_offload(operation: HostOperation) -> None:
    """Remove the guest, with its disks."""
    remove(operation)


@step
def unshelve(operation: HostOperation) -> None:
    """Start the guest that is still here."""
    operation.host.virt.power_on(operation.uuid)


@step
def unshelve_offloaded(operation: HostOperation) -> None:
    """Create the guest from its image, with the ports that it has."""
    host, instance = operation.host, operation.instance
    host.tracker.claim(instance)
    info = bind(operation, instance)
    if not _runs(operation):  # it does, if only the answer to the report was lost
        host.virt.destroy(operation.uuid)
        spawn(operation, instance, info, image=operation.image)


def _runs(operation: HostOperation) -> bool:
    try:
        return operation.host.virt.describe(operation.uuid).power_state == states.RUNNING
    except exception.NotFound:
        return False


def leave_nothing(operation: HostOperation) -> None:
    """Remove what is here of a server that could not be unshelved: it may be so elsewhere soon.

    What fails here is repeated later, as the cell notes that something may be left.
    """
    try:
        operation.host.destroy(operation.uuid)
    except Exception:
        LOG.exception("%s: its guest could not be removed", operation)
    operation.host.tracker.release(operation.uuid)


def forget_image(operation: HostOperation) -> None:
    """Delete the image of a server that needs it no more."""
    image = operation.params.image
    if image is None:
        return
    try:
        operation.host.store.delete(operation.context, image.id)
    except exception.RoostError as error:
        LOG.warning("%s: its image %s could not be deleted: %s", operation, image.id, error.message)


WORK: Final = {
    shelve_kinds.SHELVE: shelve,
    shelve_kinds.SHELVE_OFFLOAD: shelve_offload,
    shelve_kinds.UNSHELVE: unshelve,
    shelve_kinds.UNSHELVE_OFFLOADED: unshelve_offloaded,
}
