"""What a guest's own system does for us: QEMU's guest agent, where an image says that it has one.

Nobody inside a guest is trusted to answer, so each question is waited for only so long.
"""

import contextlib
import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final

import libvirt

from roost import exception, states
from roost.compute.virt.libvirt import guests
from roost.compute.virt.libvirt.hardware import Hardware
from roost.compute.virt.libvirt.identity import GuestIdentity

LOG = logging.getLogger(__name__)
_SECONDS: Final = 10  # that an agent gets for one answer
_ADMIN, _QUIESCE, _SHUTDOWN = "admin", "quiesce", "shutdown"
_SILENT: Final = (
    libvirt.VIR_ERR_AGENT_UNRESPONSIVE,
    libvirt.VIR_ERR_AGENT_UNSYNCED,
    libvirt.VIR_ERR_OPERATION_INVALID,
    libvirt.VIR_ERR_INTERNAL_ERROR,  # what an agent says that it cannot do
)


def notes_of(hardware: Hardware) -> Mapping[str, str]:
    """Return what a guest is to remember of its hardware."""
    notes = hardware.vifs.notes()
    if hardware.shutdown_seconds is not None:
        notes[_SHUTDOWN] = str(hardware.shutdown_seconds)
    if hardware.agent:
        notes[_ADMIN] = hardware.admin
    if hardware.agent or hardware.quiesce:
        notes[_QUIESCE] = "always" if hardware.quiesce else "if it can"
    return notes


def shutdown_seconds(domain: Any, default: float) -> float:
    """Return how long a guest's own system gets to end; those of earlier releases say nothing."""
    return float(_notes(domain).get(_SHUTDOWN, default))


def set_password(domain: Any, password: str) -> None:
    """Have the password of a guest's administrator changed.

    :raises roost.exception.Conflict: when it does not run, has no agent, or the agent does not
        do it
    """
    admin = _admin(domain)
    if guests.power_state(domain) != states.RUNNING:
        raise exception.Conflict(f"The guest {domain.UUIDString()} does not run.")
    with _asking(domain):
        domain.setUserPassword(admin, password)


def end_copy_quietly(domain: Any, device: str) -> None:
    """Let the copy of a disk be as it is at a moment at which the guest has written all it wants.

    :raises roost.exception.Conflict: when that cannot be had, and nothing else will do
    """
    with _quiet(domain, _notes(domain).get(_QUIESCE)):
        guests.end_copy(domain, device)


@contextlib.contextmanager
def _quiet(domain: Any, wanted: str | None) -> Iterator[None]:
    try:
        if wanted is not None:
            _freeze(domain)
    except exception.Conflict as error:
        if wanted == "always":
            raise
        LOG.warning("the copy is as if the plug had been pulled: %s", error.message)
        wanted = None
    try:
        yield
    finally:
        if wanted is not None:
            with _asking(domain):
                domain.fsThaw()


def _freeze(domain: Any) -> None:
    """Have file systems written; what an agent froze half-way goes on."""
    _admin(domain)
    if guests.power_state(domain) != states.RUNNING:
        raise exception.Conflict(f"The guest {domain.UUIDString()} is held, and writes nothing.")
    try:
        with _asking(domain):
            domain.fsFreeze()
    except exception.Conflict:
        with contextlib.suppress(libvirt.libvirtError):
            domain.fsThaw()
        raise


@contextlib.contextmanager
def _asking(domain: Any) -> Iterator[None]:
    domain.agentSetResponseTimeout(_SECONDS)
    try:
        yield
    except libvirt.libvirtError as error:
        if error.get_error_code() not in _SILENT:
            raise
        raise exception.Conflict(
            f"The agent of the guest {domain.UUIDString()} does not do it.", why=str(error)
        ) from error


def _admin(domain: Any) -> str:
    """Return the administrator of a guest that has an agent."""
    admin = _notes(domain).get(_ADMIN)
    if admin is None:
        raise exception.Conflict(
            f"The guest {domain.UUIDString()} has nobody to ask: its image does not say"
            " hw_qemu_guest_agent=yes."
        )
    return admin


def _notes(domain: Any) -> Mapping[str, str]:
    return GuestIdentity.of(guests.as_defined(domain)).notes
