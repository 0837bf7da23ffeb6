"""Making a guest anew, from another image or the same: its name, place, claim and networks stay.

The image is fetched before anything is touched. From then on the row names the new image, and the
old guest goes; a failure leaves the server in ERROR, from where it may be rebuilt once more. A host
that dies over it begins again: there never are two guests.

Each rebuild raises the instance's attempt when it is asked for. If an announced guest is of that
attempt already, an old copy of the row was put back: the guest stays, and the user is told. The
rebuild may be the one that made it, or have been asked for since.
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


@step
def image(task: GuestTask) -> None:
    """Have the image here, for :func:`spawn` to find, and be sure that a guest may be of it."""
    following = task.instance.obj_clone()
    following.image = task.image
    if isinstance(task.host.virt, ChecksGuests):
        task.host.virt.check(following)
    task.fetch_image()
    task.fetch_kernel()


@step
def clear(task: GuestTask) -> None:
    """Let go of the old guest; from here on there is no way back."""
    task.go_on(states.REBUILD_BLOCK_DEVICE_MAPPING, image=task.image)
    task.host.virt.destroy(task.uuid)


@step
def spawn(task: GuestTask) -> None:
    """Make the new guest. One of a stopped server is stopped at once."""
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
    """Let the config drive tell the new password, as long as anybody knows it."""
    given = task.instance.provisions or GuestConfig.of()
    given.admin_password = task.password
    task.instance.provisions = given


def destroy(task: GuestTask) -> None:
    """Leave no half of a guest; one that is somebody else's by now is not ours to destroy."""
    if not task.lease.is_over():
        task.host.destroy(task.uuid)


REBUILD: Flow[GuestTask] = Flow("rebuild", [Step(image), Step(clear), Step(spawn, undo=destroy)])


def rebuild(task: GuestTask) -> None:
    """Run the flow, unless its row turns out to be older than the guest.

    :raises Spared: then
    """
    if not _is_rebuilt(task):
        REBUILD(task)
        return
    LOG.warning("%s: its guest was rebuilt before, and stays: its row is older", task)
    raise Spared(
        "Nothing was rebuilt: the database was put back from a backup, which did not know of the"
        " last rebuild of this server. Ask again, if this one was asked for since."
    )


def _is_rebuilt(task: GuestTask) -> bool:
    """Tell whether the guest is of this rebuild, or a later one, and somebody's server since."""
    try:
        guest = task.host.virt.describe(task.uuid)
    except exception.NotFound:
        return False
    return guest.announced and (guest.attempt or 0) >= task.instance.attempt
