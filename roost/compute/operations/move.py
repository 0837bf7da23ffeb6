"""The steps of moves that are the work of this host: as the source, or as the destination.

A cell-conductor sends them one after the other (``conductor/cell/operations/``). Each may be
repeated, and each undo may find anything from nothing to a finished step. The source keeps the
guest with its disks, stopped, until the move is confirmed. A guest that is resized on its own host
stays there, and the host keeps what it was.
"""

import contextlib
import functools
import logging
import pathlib
from collections.abc import Mapping
from typing import Final

from roost import exception, states
from roost.compute.operations.operation import Do, HostOperation, give_password, step
from roost.compute.virt.cold_migration import ColdMoves, MovesGuests, NoteCopied
from roost.compute.virt.driver import GuestResources
from roost.objects import ImageMeta, Instance, NetworkInfo
from roost.operations.steps import DESTINATION, SOURCE

LOG = logging.getLogger(__name__)
_PAUSE: Final = 5.0  # seconds from one report of a copy to the next


def _moves(operation: HostOperation) -> ColdMoves:
    virt = operation.host.virt
    if not isinstance(virt, MovesGuests):
        raise exception.Unsupported("The hypervisor of this host cannot move servers.")
    return virt.cold_moves()


def instance_at(operation: HostOperation, side: str) -> Instance:
    """Return the instance with the flavor and resources that it has on one side of its move."""
    return operation.migration.instance_at(side, operation.instance)


@step
def prepare(operation: HostOperation) -> None:
    """Claim the resources of the guest, and make room for its disks."""
    moves, instance = _moves(operation), instance_at(operation, DESTINATION)
    operation.host.tracker.claim(instance, arriving=True)
    if not operation.migration.stays_on_host:
        operation.handover = moves.prepare(instance)


@step
def discard(operation: HostOperation) -> None:
    """Undo :func:`prepare`, unless the guest is on this host: then it has not arrived."""
    host = operation.host
    if operation.migration.stays_on_host:
        host.tracker.note(instance_at(operation, SOURCE))
    elif not host.virt.exists(operation.uuid):
        host.destroy(operation.uuid)
        host.tracker.release(operation.uuid)


@step
def send(operation: HostOperation) -> None:
    """Stop the guest, and offer its disks to the destination; one that cannot move runs on.

    :raises roost.exception.Unsupported: when the guest cannot move to that host
    :raises roost.exception.Conflict: when it is rescued, which its row may not say: its state can
        be reset
    """
    moves = _moves(operation)
    if operation.host.virt.describe(operation.uuid).vm_state == states.RESCUED:
        raise exception.Conflict("The guest is rescued: unrescue the server first.")
    room = None if operation.migration.stays_on_host else str(operation.row.handover)
    if room is not None:
        moves.check(operation.uuid, room)
    operation.host.virt.power_off(operation.uuid)
    if room is not None:
        reshaped = operation.migration.changes_disks
        operation.handover = moves.send(operation.uuid, room, reshaped=reshaped)


@step
def stay(operation: HostOperation) -> None:
    """Bind the ports to this host again, and start the guest if it ran when the move began."""
    moves = _moves(operation)
    moves.keep(operation.uuid)
    moves.restore(operation.uuid)
    bind(operation, operation.instance)
    if operation.migration.stays_on_host:
        operation.host.tracker.note(instance_at(operation, SOURCE))
    if _ran(operation):
        operation.host.virt.power_on(operation.uuid)


@step
def arrive(operation: HostOperation) -> None:
    """Fetch the disks, and create the guest around them; start it if it ran at the source.

    Fetching is tried again for a while, where the source cannot be reached.
    """
    host, instance = operation.host, instance_at(operation, DESTINATION)
    info = bind(operation, instance)
    if operation.migration.stays_on_host:
        host.tracker.claim(instance, arriving=True)
    copied = _reports(operation)
    with host.drives.made(instance, info) as drive:
        create = functools.partial(_create, operation, instance, info, drive, copied)
        host.patience.retry(f"{operation}: disks", create, stopping=host.stopping)
    if _ran(operation):
        host.virt.power_on(operation.uuid)


@step
def revive(operation: HostOperation) -> None:
    """Create a guest again whose host is down for good: around its disks, if this host has them.

    Else from its image: what was on its disks is lost.
    """
    host, instance = operation.host, instance_at(operation, DESTINATION)
    moves = _moves(operation)
    host.tracker.claim(instance, arriving=True)
    info = bind(operation, instance)
    offer = moves.adopt(operation.uuid)
    if offer is None:
        lost = f"Its disks were on {operation.migration.source_host} alone: they are lost."
        LOG.warning("%s: %s", operation, lost)
        operation.timeline.say(lost)
        spawn(operation, instance, info, image=instance.image)
        if not _ran(operation):
            host.virt.power_off(operation.uuid)
        return
    with contextlib.suppress(exception.Conflict):  # it has arrived before
        moves.prepare(instance)
    operation.row.handover = offer
    with host.drives.made(instance, info) as drive:
        _create(operation, instance, info, drive, _reports(operation))
    if _ran(operation):
        host.virt.power_on(operation.uuid)


def spawn(
    operation: HostOperation, instance: Instance, info: NetworkInfo, *, image: ImageMeta | None
) -> None:
    """Create the guest of a server anew, from an image."""
    host = operation.host
    if operation.password is not None:
        give_password(operation, instance)
    with host.drives.made(instance, info) as drive:
        host.virt.spawn(
            operation.context,
            instance,
            image_path=None if image is None else operation.fetch_image(image),
            network_info=info,
            resources=GuestResources.of(instance),
            config_drive=drive,
            kernel=None if image is None else operation.fetch_kernel(image),
        )


def _ran(operation: HostOperation) -> bool:
    """Return whether the guest ran when the move began; it may have stopped since."""
    before = operation.migration.power_before
    if before is None:  # a conductor of the release before has written the row
        before = operation.instance.power_state
    return bool(before == states.RUNNING)


def _create(
    operation: HostOperation,
    instance: Instance,
    info: NetworkInfo,
    drive: pathlib.Path | None,
    copied: NoteCopied,
) -> None:
    moves = _moves(operation)
    create = moves.reshape
    if not operation.migration.stays_on_host:
        find = functools.partial(find_image, operation)
        offer = str(operation.row.handover)
        create = functools.partial(moves.arrive, offer=offer, image=find, copied=copied)
    create(
        operation.context,
        instance,
        before=instance_at(operation, SOURCE),
        network_info=info,
        resources=GuestResources.of(instance),
        config_drive=drive,
    )


def _reports(operation: HostOperation) -> NoteCopied:
    """Return what reports how much of the disks is copied, with pauses between two reports."""
    clock = operation.lease.keeper.clock
    last = clock()

    def note(total: int, processed: int) -> None:
        nonlocal last
        if clock() - last >= _PAUSE:
            operation.note_copied(disk_total_bytes=total, disk_processed_bytes=processed)
            last = clock()

    return note


def find_image(operation: HostOperation) -> pathlib.Path | None:
    """Fetch the image of the instance, if this host may; without it whole disks are copied."""
    image, host = operation.instance.image, operation.host
    if image is None:
        return None
    try:
        return host.images.ensure(
            operation.context,
            image,
            stopping=host.stopping,
            trusted=list(operation.instance.trusted_certs),
            user=operation,
        )
    except exception.RoostError as error:
        LOG.info("%s: without the image: %s", operation, error.message)
        return None


@step
def withdraw(operation: HostOperation) -> None:
    """Destroy the guest that has arrived here; one that was here before is what it was again."""
    host = operation.host
    if operation.migration.stays_on_host:
        with contextlib.suppress(exception.NotFound):  # the guest is lost: what it was is not
            host.virt.power_off(operation.uuid)
        _moves(operation).restore(operation.uuid)
        host.tracker.note(instance_at(operation, SOURCE))
    else:
        host.destroy(operation.uuid)
        host.tracker.release(operation.uuid)


@step
def leave(operation: HostOperation) -> None:
    """Destroy the guest that the destination has by now; on the same host, forget what it was."""
    if operation.migration.stays_on_host:
        _moves(operation).settle(operation.uuid)
    else:
        operation.host.destroy(operation.uuid)
        operation.host.tracker.forget(operation.uuid)


def bind(operation: HostOperation, instance: Instance) -> NetworkInfo:
    """Bind the ports of the instance to this host; retry, because a conductor may die meanwhile."""
    host, info = operation.host, instance.network_info or NetworkInfo.of(vifs=[])
    if instance.networks or info.vifs:
        allocate = functools.partial(host.allocate_networks, operation.context, instance)
        info = host.patience.retry(f"{operation}: networks", allocate, stopping=host.stopping)
    operation.network_info = info
    return info


STEPS: Final[Mapping[str, Do]] = {
    do.__name__: do for do in (prepare, discard, send, stay, arrive, withdraw, leave, revive)
}
