"""What guests have written to their consoles, as much of it as a message should carry."""

from typing import Final

from roost import exception
from roost.compute.virt.driver import KeepsConsoles, VirtDriver

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
