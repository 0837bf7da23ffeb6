"""Operations that change the state of a guest: power, pause, suspend, rescue, password.

Each is one step. All but a crash dump may be repeated: a guest that is in the state stays in it.
"""

from collections.abc import Mapping
from typing import Final

from roost import exception
from roost.compute.operations.operation import Do, HostOperation, step
from roost.compute.virt.driver import (
    CrashesGuests,
    PausesGuests,
    RescuesGuests,
    SetsPasswords,
    SuspendsGuests,
)
from roost.operations import kinds
from roost.operations.steps import Kind


@step
def power_off(operation: HostOperation) -> None:
    operation.host.virt.power_off(operation.uuid)


@step
def power_on(operation: HostOperation) -> None:
    operation.host.virt.power_on(operation.uuid)


@step
def reboot(operation: HostOperation) -> None:
    operation.host.virt.reboot(operation.uuid, hard=operation.kind is kinds.HARD_REBOOT)


@step
def pause(operation: HostOperation) -> None:
    _pauses(operation).pause(operation.uuid)


@step
def unpause(operation: HostOperation) -> None:
    _pauses(operation).unpause(operation.uuid)


def _pauses(operation: HostOperation) -> PausesGuests:
    if not isinstance(operation.host.virt, PausesGuests):
        raise exception.Unsupported("The hypervisor of this server cannot pause it.")
    return operation.host.virt


@step
def suspend(operation: HostOperation) -> None:
    _suspends(operation).suspend(operation.uuid)


@step
def resume(operation: HostOperation) -> None:
    _suspends(operation).resume(operation.uuid)


def _suspends(operation: HostOperation) -> SuspendsGuests:
    if not isinstance(operation.host.virt, SuspendsGuests):
        raise exception.Unsupported("The hypervisor of this server cannot suspend it.")
    return operation.host.virt


@step
def soft_delete(operation: HostOperation) -> None:
    """Stop the guest, which stays on this host until it is restored or deleted."""
    operation.host.virt.power_off(operation.uuid)


@step
def restore(operation: HostOperation) -> None:
    operation.host.virt.power_on(operation.uuid)


@step
def rescue(operation: HostOperation) -> None:
    """Start the guest from the image that its row names, unless it is rescued already."""
    _rescues(operation).rescue(
        operation.context,
        operation.instance,
        image=operation.image,
        image_path=operation.fetch_image(),
        password=operation.password,
        kernel=operation.fetch_kernel(),
    )


@step
def unrescue(operation: HostOperation) -> None:
    _rescues(operation).unrescue(operation.uuid)


def _rescues(operation: HostOperation) -> RescuesGuests:
    if not isinstance(operation.host.virt, RescuesGuests):
        raise exception.Unsupported("The hypervisor of this server cannot rescue it.")
    return operation.host.virt


@step
def set_password(operation: HostOperation) -> None:
    virt = operation.host.virt
    if not isinstance(virt, SetsPasswords):
        raise exception.Unsupported("The hypervisor of this server cannot set its password.")
    if operation.password is None:
        raise exception.Conflict("The password did not reach the server: set it again.")
    virt.set_password(operation.uuid, operation.password)


@step
def trigger_crash_dump(operation: HostOperation) -> None:
    virt = operation.host.virt
    if not isinstance(virt, CrashesGuests):
        raise exception.Unsupported("The hypervisor of this server cannot trigger a crash dump.")
    virt.inject_nmi(operation.uuid)


WORK: Final[Mapping[Kind, Do]] = {
    kinds.STOP: power_off,
    kinds.START: power_on,
    kinds.REBOOT: reboot,
    kinds.HARD_REBOOT: reboot,
    kinds.PAUSE: pause,
    kinds.UNPAUSE: unpause,
    kinds.SUSPEND: suspend,
    kinds.RESUME: resume,
    kinds.SOFT_DELETE: soft_delete,
    kinds.RESTORE: restore,
    kinds.RESCUE: rescue,
    kinds.UNRESCUE: unrescue,
    kinds.CHANGE_PASSWORD: set_password,
    kinds.TRIGGER_CRASH_DUMP: trigger_crash_dump,
}
