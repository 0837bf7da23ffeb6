"""Requests to QEMU's guest agent, if the image says that the guest has one.

Guests are not trusted to answer, so each request has a timeout.
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
_SECONDS: Final = 10  # timeout of a request
_ADMIN, _QUIESCE, _SHUTDOWN = "admin", "quiesce", "shutdown"
_FAILED: Final = (
    libvirt.VIR_ERR_AGENT_UNRESPONSIVE,
    libvirt.VIR_ERR_AGENT_UNSYNCED,
    libvirt.VIR_ERR_OPERATION_INVALID,
    libvirt.VIR_ERR_INTERNAL_ERROR,  # the agent does not support the request
)


def notes_of(hardware: Hardware) -> Mapping[str, str]:
    """Return the notes on its hardware to record with a guest."""
    notes = hardware.vifs.notes()
    if hardware.shutdown_seconds is not None:
        notes[_SHUTDOWN] = str(hardware.shutdown_seconds)
    if hardware.agent:
        notes[_ADMIN] = hardware.admin
    if hardware.agent or hardware.quiesce:
        notes[_QUIESCE] = "always" if hardware.quiesce else "if it can"
    return notes


def shutdown_seconds(domain: Any, default: float) -> float:
    """Return the shutdown timeout of a guest; guests of earlier releases have the default."""
    return float(_notes(domain).get(_SHUTDOWN, default))


def set_password(domain: Any, password: str) -> None:
    """Change the password of a guest's administrator.

    :raises roost.exception.Conflict: when the guest does not run, has no agent, or the agent fails
    """
    admin = _admin(domain)
    if guests.power_state(domain) != states.RUNNING:
        raise exception.Conflict(f"The guest {domain.UUIDString()} does not run.")
    with _requesting(domain):
        domain.setUserPassword(admin, password)


def end_copy_quietly(domain: Any, device: str) -> None:
    """End the copy of a disk while the guest's file systems are frozen.

    :raises roost.exception.Conflict: when they cannot be frozen, and the image requires it
    """
    with _frozen(domain, _notes(domain).get(_QUIESCE)):
        guests.end_copy(domain, device)


@contextlib.contextmanager
def _frozen(domain: Any, wanted: str | None) -> Iterator[None]:
    try:
        if wanted is not None:
            _freeze(domain)
    except exception.Conflict as error:
        if wanted == "always":
            raise
        LOG.warning("the copy is only crash-consistent: %s", error.message)
        wanted = None
    try:
        yield
    finally:
        if wanted is not None:
            with _requesting(domain):
                domain.fsThaw()


def _freeze(domain: Any) -> None:
    """Freeze the guest's file systems; thaw those that a failed request froze."""
    _admin(domain)
    if guests.power_state(domain) != states.RUNNING:
        raise exception.Conflict(f"The guest {domain.UUIDString()} does not run.")
    try:
        with _requesting(domain):
            domain.fsFreeze()
    except exception.Conflict:
        with contextlib.suppress(libvirt.libvirtError):
            domain.fsThaw()
        raise


@contextlib.contextmanager
def _requesting(domain: Any) -> Iterator[None]:
    domain.agentSetResponseTimeout(_SECONDS)
    try:
        yield
    except libvirt.libvirtError as error:
        if error.get_error_code() not in _FAILED:
            raise
        raise exception.Conflict(
            f"The agent of the guest {domain.UUIDString()} failed the request.", why=str(error)
        ) from error


def _admin(domain: Any) -> str:
    """Return the administrator's name of a guest that has an agent."""
    admin = _notes(domain).get(_ADMIN)
    if admin is None:
        raise exception.Conflict(
            f"The guest {domain.UUIDString()} has no agent: its image does not say"
            " hw_qemu_guest_agent=yes."
        )
    return admin


def _notes(domain: Any) -> Mapping[str, str]:
    return GuestIdentity.of(guests.as_defined(domain)).notes
