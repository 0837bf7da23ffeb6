"""The steps of moves that are the work of this host: as the source, or as the destination.

A cell-conductor sends them one after the other (``conductor/cell/server_moves.py``). Each may be
repeated, and each undo may find anything from nothing to a finished step. The source keeps the
guest with its disks, stopped, until the move is confirmed.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Final

from roost import exception, states
from roost.compute.operations.operation import HostOperation, step
from roost.compute.virt.driver import GuestPlacement, MovesGuests
from roost.objects import Instance, NetworkInfo
from roost.operations.kinds import DESTINATION


def _virt(operation: HostOperation) -> MovesGuests:
    virt = operation.host.virt
    if not isinstance(virt, MovesGuests):
        raise exception.Unsupported("The hypervisor of this host cannot move servers.")
    return virt


def _arriving(operation: HostOperation) -> Instance:
    return operation.migration.instance_at(DESTINATION, operation.instance)


@step
def prepare(operation: HostOperation) -> None:
    """Claim the resources of the guest, and make room for its disks."""
    virt, instance = _virt(operation), _arriving(operation)
    operation.host.tracker.claim(instance, arriving=True)
    operation.handover = virt.prepare_arrival(instance)


@step
def discard(operation: HostOperation) -> None:
    """Undo :func:`prepare`, unless the guest is on this host: then it has not arrived."""
    host = operation.host
    if not host.virt.exists(operation.uuid):
        host.destroy(operation.uuid)
        host.tracker.release(operation.uuid)


@step
def send(operation: HostOperation) -> None:
    """Stop the guest, and copy its disks to the destination."""
    virt = _virt(operation)
    operation.host.virt.power_off(operation.uuid)
    virt.send(operation.uuid, str(operation.row.handover))


@step
def stay(operation: HostOperation) -> None:
    """Bind the ports to this host again, and start the guest if it ran when the move began."""
    _bind(operation, operation.instance)
    if operation.instance.power_state == states.RUNNING:
        operation.host.virt.power_on(operation.uuid)


@step
def arrive(operation: HostOperation) -> None:
    """Create the guest around the disks that have arrived; start it if it ran at the source."""
    instance = _arriving(operation)
    info = _bind(operation, instance)
    with operation.host.drives.made(instance, info) as drive:
        _virt(operation).arrive(
            operation.context,
            instance,
            network_info=info,
            placement=GuestPlacement.of(instance),
            config_drive=drive,
            runs=instance.power_state == states.RUNNING,
        )


@step
def withdraw(operation: HostOperation) -> None:
    """Destroy the guest that has arrived here."""
    operation.host.destroy(operation.uuid)
    operation.host.tracker.release(operation.uuid)


@step
def leave(operation: HostOperation) -> None:
    """Destroy the guest that the destination has by now."""
    operation.host.destroy(operation.uuid)
    operation.host.tracker.forget(operation.uuid)


def _bind(operation: HostOperation, instance: Instance) -> NetworkInfo:
    """Bind the ports of the instance to this host; retry, because a conductor may die meanwhile."""
    host, info = operation.host, instance.network_info or NetworkInfo.of(vifs=[])
    if instance.networks or info.vifs:
        allocate = functools.partial(host.networks.allocate, operation.context, instance)
        info = host.patience.retry(f"{operation}: networks", allocate, stopping=host.stopping)
    operation.network_info = info
    return info


STEPS: Final[Mapping[str, Callable[[HostOperation], None]]] = {
    do.__name__: do for do in (prepare, discard, send, stay, arrive, withdraw, leave)
}
