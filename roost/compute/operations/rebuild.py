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

from roost import exception, states
from roost.compute.operations.tasks import GuestTask, Spared, step
from roost.compute.virt.driver import ChecksGuests, GuestPlacement
from roost.flow import Flow, Step
from roost.objects import NetworkInfo
from roost.objects.instance import GuestConfig

LOG = logging.getLogger(__name__)
REBUILD: Flow[GuestTask] = Flow(
    "rebuild", lambda: [Step(image), Step(clear), Step(spawn, undo=destroy)]
)


def rebuild(task: GuestTask) -> None:
    """Run the flow, unless the row is older than the guest.

    :raises Spared: when it is older
    """
    if not _is_rebuilt(task):
        REBUILD(task)
        return
    LOG.warning("%s: its guest was rebuilt before and is kept: its row is older", task)
    raise Spared(
        "Nothing was rebuilt: the database was restored from a backup that is older than the last"
        " rebuild of this server. If you have requested this rebuild since then, request it again."
    )


def _is_rebuilt(task: GuestTask) -> bool:
    """Return whether an announced guest is of this rebuild or a later one."""
    try:
        guest = task.host.virt.describe(task.uuid)
    except exception.NotFound:
        return False
    return guest.announced and (guest.attempt or 0) >= task.instance.attempt


@step
def image(task: GuestTask) -> None:
    """Fetch the image for :func:`spawn`, and check that the host can run a guest from it."""
    following = task.instance.obj_clone()
    following.image = task.image
    if isinstance(task.host.virt, ChecksGuests):
        task.host.virt.check(following)
    task.fetch_image()
    task.fetch_kernel()


@step
def clear(task: GuestTask) -> None:
    """Destroy the old guest; this cannot be undone."""
    task.go_on(states.REBUILD_BLOCK_DEVICE_MAPPING, image=task.image)
    task.host.virt.destroy(task.uuid)


@step
def spawn(task: GuestTask) -> None:
    """Spawn the new guest. That of a stopped server is stopped at once."""
    now = datetime.datetime.now(datetime.UTC)
    task.go_on(states.REBUILD_SPAWNING, launched_at=now.isoformat())
    task.instance.image = task.image
    _give_password(task)
    known = task.instance.network_info or NetworkInfo.of(vifs=[])
    info = task.host.plug(task.instance, known)
    with task.host.drives.made(task.instance, info) as drive:
        task.host.virt.spawn(
            task.context,
            task.instance,
            image_path=task.fetch_image(),
            network_info=info,
            placement=GuestPlacement.of(task.instance),
            config_drive=drive,
            kernel=task.fetch_kernel(),
        )
    if task.instance.vm_state == states.STOPPED:
        task.host.virt.power_off(task.uuid)


def _give_password(task: GuestTask) -> None:
    """Put the new password into the config drive, if the message has it."""
    given = task.instance.provisions or GuestConfig.of()
    given.admin_password = task.password
    task.instance.provisions = given


def destroy(task: GuestTask) -> None:
    """Destroy an incomplete guest, unless the lease is over: it may be another task's guest."""
    if not task.lease.is_over():
        task.host.destroy(task.uuid)
