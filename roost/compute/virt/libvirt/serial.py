"""Serial consoles of guests as they are typed at: a stream of libvirt's becomes a socket.

libvirtd lets one person at such a console; who comes last has it, so that nobody is kept out by a
window that was forgotten somewhere. What the guest writes goes to its log all the same: QEMU itself
writes there.

Each has a connection to libvirtd of its own. libvirtd reads no more from one whose stream is full,
as when a guest does not take what is typed: no other call must wait for that.
"""

import contextlib
import logging
import socket
import threading
import xml.etree.ElementTree as ET
from typing import Any, Final

import libvirt

from roost import exception
from roost.compute.virt.libvirt.elements import parse

LOG = logging.getLogger(__name__)
_CHUNK: Final = 16384  # bytes
_ROOM: Final = 1 << 18  # bytes that a guest may write before somebody takes them; more are dropped
_FIRST: Final = None  # of its consoles
_LAST_ONE_HAS_IT: Final = libvirt.VIR_DOMAIN_CONSOLE_FORCE | libvirt.VIR_DOMAIN_CONSOLE_SAFE


def is_there(described: ET.Element) -> bool:
    """Tell whether a guest has a serial console that somebody can type at."""
    return described.find("devices/serial[@type='pty']") is not None


def connect(opened: Any, uuid: str) -> socket.socket:
    """Return a connection that has what the guest writes, and takes what it is to read.

    It ends with the guest, or when somebody else opens its console.

    :param opened: a connection to libvirtd, which is closed with the one that is returned
    :raises roost.exception.Conflict: when the guest does not run
    :raises roost.exception.Unsupported: when it was made without such a console
    """
    domain = opened.lookupByUUIDString(uuid)
    if not domain.isActive():
        raise exception.Conflict(f"The guest {uuid} does not run.")
    if not is_there(parse(domain.XMLDesc())):
        raise exception.Unsupported(f"The guest {uuid} has no serial console to type at.")
    stream = opened.newStream()
    domain.openConsole(_FIRST, stream, _LAST_ONE_HAS_IT)
    ours, theirs = socket.socketpair()
    threading.Thread(
        target=_last, args=(opened, stream, theirs), name="serial console in", daemon=True
    ).start()
    return ours


def _pass_out(stream: Any, side: socket.socket) -> None:
    """Hand on what the guest writes, and never wait for who reads it.

    What is not read from a stream piles up in this process, so it is rather dropped.
    """
    side.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _ROOM)
    told = False
    with contextlib.suppress(OSError, libvirt.libvirtError):
        while said := stream.recv(_CHUNK):
            if _send_at_once(side, said) < len(said) and not told:
                LOG.info("a serial console says more than is read; parts are only in its log")
                told = True
    with contextlib.suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)  # which wakes who waits for what is typed


def _send_at_once(side: socket.socket, said: bytes) -> int:
    """Return how many bytes there was room for."""
    try:
        return side.send(said, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return 0


def _pass_in(stream: Any, side: socket.socket) -> None:
    """Hand on what is typed, until nobody types any more."""
    with contextlib.suppress(OSError, libvirt.libvirtError):
        while typed := side.recv(_CHUNK):
            while typed:
                typed = typed[stream.send(typed) :]


def _last(opened: Any, stream: Any, side: socket.socket) -> None:
    """Pass on what both sides say until one of them ends; then all is closed."""
    hearing = threading.Thread(
        target=_pass_out, args=(stream, side), name="serial console out", daemon=True
    )
    hearing.start()
    _pass_in(stream, side)
    with contextlib.suppress(libvirt.libvirtError):  # when it has ended already
        stream.abort()
    hearing.join()
    side.close()
    opened.close()
