"""Serial consoles of guests as they are typed at: a stream of libvirt's becomes a socket.

libvirtd lets one person at such a console; who comes last has it, so that nobody is kept out by a
window that was forgotten somewhere. What the guest writes goes to its log all the same: QEMU itself
writes there.

Each has a connection to libvirtd of its own. libvirtd reads no more from one whose stream is full,
as when a guest does not take what is typed: no other call must wait for that.
"""

import contextlib
import logging
import selectors
import socket
import threading
import time
import xml.etree.ElementTree as ET
from typing import Any, Final

import libvirt

from roost import exception
from roost.compute.virt.libvirt.elements import parse

LOG = logging.getLogger(__name__)
_CHUNK: Final = 16384  # bytes
_ROOM: Final = 1 << 18  # bytes that a guest may write before somebody takes them; more are dropped
_NOTHING: Final = -2  # what the binding returns when it would have to wait
# Seconds between two looks at what a guest says: at first, and in the end; and what is in between.
_SHORTEST: Final = 0.01
_LONGEST: Final = 0.1
_SLOWER: Final = 1.1
_FIRST: Final = None  # of its consoles
_LAST_ONE_HAS_IT: Final = libvirt.VIR_DOMAIN_CONSOLE_FORCE | libvirt.VIR_DOMAIN_CONSOLE_SAFE

# What libvirtd says to one of two who come at the same moment.
_LOST: Final = (libvirt.VIR_ERR_INTERNAL_ERROR, libvirt.VIR_ERR_OPERATION_FAILED)


def is_there(described: ET.Element) -> bool:
    """Tell whether a guest has a serial console that somebody can type at."""
    return described.find("devices/serial[@type='pty']") is not None


def check(domain: Any) -> None:
    """Make sure that a guest's console can be opened now.

    :raises roost.exception.Conflict: when the guest does not run
    :raises roost.exception.Unsupported: when it was made without such a console
    """
    uuid = domain.UUIDString()
    if not domain.isActive():
        raise exception.Conflict(f"The guest {uuid} does not run.")
    if not is_there(parse(domain.XMLDesc())):
        raise exception.Unsupported(f"The guest {uuid} has no serial console to type at.")


def connect(opened: Any, uuid: str) -> socket.socket:
    """Return a connection that has what the guest writes, and takes what it is to read.

    It ends with the guest, or when somebody else opens its console.

    :param opened: a connection to libvirtd, which is closed with the one that is returned
    :raises roost.exception.Conflict: when somebody else opens it at the same moment
    """
    stream = opened.newStream(libvirt.VIR_STREAM_NONBLOCK)
    try:
        opened.lookupByUUIDString(uuid).openConsole(_FIRST, stream, _LAST_ONE_HAS_IT)
    except libvirt.libvirtError as error:
        if error.get_error_code() not in _LOST:
            raise
        raise exception.Conflict(
            f"Somebody else opens the serial console of the guest {uuid}.", why=str(error)
        ) from error
    ours, theirs = socket.socketpair()
    threading.Thread(
        target=_last, args=(opened, stream, theirs), name="serial console", daemon=True
    ).start()
    return ours


def _last(opened: Any, stream: Any, side: socket.socket) -> None:
    """Pass on what both sides say until one of them ends; then all is closed.

    The stream is not aborted: where it has just ended at the other side, libvirt would wait for the
    answer for ever. It ends with its connection.
    """
    with side, contextlib.suppress(OSError, libvirt.libvirtError):
        side.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _ROOM)
        _pass_on(opened, stream, side)
    opened.close()


def _pass_on(opened: Any, stream: Any, side: socket.socket) -> None:
    """Look at both sides in turn, the less often the longer nobody has said anything.

    libvirt cannot be told to wake us: it never lets go of who is once told of a stream. That
    libvirtd is gone streams do not tell, connections do.
    """
    out, pause = _Out(side), _SHORTEST
    with selectors.DefaultSelector() as typing:
        typing.register(side, selectors.EVENT_READ)
        while (said := stream.recv(_CHUNK)) != b"" and opened.isAlive() == 1:
            quiet = said == _NOTHING
            if not quiet:
                out.hand_on(said)
            if typing.select(pause if quiet else 0):
                if not (typed := side.recv(_CHUNK)):
                    return
                _type(stream, typed)
                quiet = False
            pause = min(pause * _SLOWER, _LONGEST) if quiet else _SHORTEST


def _type(stream: Any, typed: bytes) -> None:
    while typed:
        taken = stream.send(typed)
        if taken == _NOTHING:
            time.sleep(_LONGEST)
        else:
            typed = typed[taken:]


class _Out:
    """Hands on what a guest writes, and never waits for who reads it.

    What is not read from a stream piles up in this process, so it is rather dropped.
    """

    def __init__(self, side: socket.socket) -> None:
        self._side = side
        self._told = False

    def hand_on(self, said: bytes) -> None:
        taken = 0
        with contextlib.suppress(BlockingIOError):
            taken = self._side.send(said, socket.MSG_DONTWAIT)
        if taken < len(said) and not self._told:
            LOG.info("a serial console says more than is read; parts are only in its log")
            self._told = True
