"""Consoles of guests: what was written there, and the way to type at them."""

from typing import Any, Final

from roost import exception, states
from roost.compute.console_door import ConsoleDoor
from roost.compute.virt.driver import GivesConsoles, KeepsConsoles, VirtDriver

MOST: Final = 100 * 1024  # characters


def tail(virt: VirtDriver, instance_uuid: str, *, lines: int | None) -> str:
    """Return the last lines of a guest's console; None: all, as far as one message carries them.

    :raises roost.exception.NotFound: when there is no such guest
    :raises roost.exception.Unsupported: when the hypervisor keeps no consoles
    """
    if not isinstance(virt, KeepsConsoles):
        raise exception.Unsupported("The requested functionality is not supported.")
    kept = virt.console_output(instance_uuid).removesuffix("\n").split("\n")
    if lines is not None:
        kept = kept[-lines:] if lines else []
    return "\n".join(kept)[-MOST:]


def let_in(
    virt: VirtDriver,
    door: ConsoleDoor,
    instance_uuid: str,
    *,
    kind: str,
    token_digest: str,
    seconds: int,
) -> dict[str, Any]:
    """Let a token open a console of a guest, and return where.

    :raises roost.exception.Conflict: when the guest does not run
    :raises roost.exception.Invalid: when this guest has other consoles
    :raises roost.exception.NotFound: when there is no such guest
    :raises roost.exception.Unsupported: when the hypervisor has none to type at
    """
    if not isinstance(virt, GivesConsoles):
        raise exception.Unsupported(f"Unable to get {kind} console, functionality not implemented")
    if kind not in virt.console_kinds(instance_uuid):
        raise exception.Invalid(f"Unavailable console type {kind}.")
    if virt.describe(instance_uuid).power_state not in (states.RUNNING, states.HELD):
        raise exception.Conflict(f"Instance {instance_uuid} is not ready")
    host, port = door.grant(instance_uuid, kind=kind, token_digest=token_digest, seconds=seconds)
    return {"host": host, "port": port}
