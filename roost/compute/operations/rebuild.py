"""Rebuild: replaces a guest, from another image or the same; name, host, claim and networks stay.

The image is fetched before anything changes. Then the row names the new image, and the old guest is
destroyed; a failure leaves the server in ERROR, from where it may be rebuilt once more. A host
that dies during a rebuild begins it again: there never are two guests.

Each request for a rebuild raises the instance's attempt. If an announced guest has that attempt
already, the row was restored from a backup: the guest stays, and the fault says so. The task may be
the rebuild that created the guest, or one requested later.
"""

import datetime
import logging
from typing import Final

from roost import exception, states
from roost.compute.operations.operation import HostOperation, Spared, give_password, step
from roost.compute.virt.driver import ChecksGuests, GuestResources
from roost.flow import Flow, Step
from roost.objects import NetworkInfo
from roost.operations import kinds

LOG = logging.getLogger(__name__)
REBUILD: Flow[HostOperation] = Flow(
    "rebuild", lambda: [Step(image), Step(clear), Step(spawn, undo=destroy)]
)


def rebuild(operation: HostOperation) -> None:
    """Run the flow, unless the row is older than the guest.

    :raises Spared: when it is older
    """
    if not _is_rebuilt(operation):
        REBUILD(operation)
        return
    LOG.warning("%s: its guest was rebuilt before and is kept: its row is older", operation)
    raise Spared(
        "Nothing was rebuilt: the database was restored from a backup that is older than the last"
        " rebuild of this server. If you have requested this rebuild since then, request it again."
    )


def _is_rebuilt(operation: HostOperation) -> bool:
    """Return whether an announced guest is of this rebuild or a later one."""
    try:
        guest = operation.host.virt.describe(operation.uuid)
    except exception.NotFound:
        return False
    return guest.announced and (guest.attempt or 0) >= operation.instance.attempt


@step
def image(operation: HostOperation) -> None:
    """Fetch the image for :func:`spawn`, and check that the host can run a guest from it."""
    following = operation.instance.obj_clone()
    following.image = operation.image
    if isinstance(operation.host.virt, ChecksGuests):
        operation.host.virt.check(following)
    operation.fetch_image()
    operation.fetch_kernel()


@step
def clear(operation: HostOperation) -> None:
    """Destroy the old guest; this cannot be undone."""
    operation.go_on(states.REBUILD_BLOCK_DEVICE_MAPPING, image=operation.image)
    operation.host.virt.destroy(operation.uuid)


@step
def spawn(operation: HostOperation) -> None:
    """Spawn the new guest. That of a stopped server is stopped at once."""
    now = datetime.datetime.now(datetime.UTC)
    operation.go_on(states.REBUILD_SPAWNING, launched_at=now.isoformat())
    operation.instance.image = operation.image
    give_password(operation, operation.instance)
    known = operation.instance.network_info or NetworkInfo.of(vifs=[])
    info = operation.host.plug(operation.instance, known)
    with operation.host.drives.made(operation.instance, info) as drive:
        operation.host.virt.spawn(
            operation.context,
            operation.instance,
            image_path=operation.fetch_image(),
            network_info=info,
            resources=GuestResources.of(operation.instance),
            config_drive=drive,
            kernel=operation.fetch_kernel(),
        )
    if operation.instance.vm_state == states.STOPPED:
        operation.host.virt.power_off(operation.uuid)


def destroy(operation: HostOperation) -> None:
    """Destroy an incomplete guest, unless the lease is over: it may be another operation's."""
    if not operation.lease.is_over():
        operation.host.destroy(operation.uuid)


WORK: Final = {kinds.REBUILD: rebuild}
