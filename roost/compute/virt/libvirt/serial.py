"""Interactive serial consoles: a libvirt stream is connected to a socket.

libvirtd allows one client per console; a new client replaces the old one, so that a forgotten
window locks no one out. The guest's output is in its log all the same: QEMU itself writes the log.

Each console has its own connection to libvirtd, which stops reading from a connection whose stream
is full, as when a guest does not read its input: no other call must wait for that.
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
_ROOM: Final = 1 << 18  # bytes of output to buffer for the client; more are dropped
_NOTHING: Final = -2  # what the binding returns instead of blocking
# Seconds between two polls of a guest's output: the first, the longest, and the growth factor.
_SHORTEST: Final = 0.01
_LONGEST: Final = 0.1
_SLOWER: Final = 1.1
_FIRST: Final = None  # of its consoles
_LAST_ONE_HAS_IT: Final = libvirt.VIR_DOMAIN_CONSOLE_FORCE | libvirt.VIR_DOMAIN_CONSOLE_SAFE

# libvirtd's errors for one of two simultaneous clients.
_LOST: Final = (libvirt.VIR_ERR_INTERNAL_ERROR, libvirt.VIR_ERR_OPERATION_FAILED)


def is_there(described: ET.Element) -> bool:
    """Return whether a guest has an interactive serial console."""
    return described.find("devices/serial[@type='pty']") is not None


def check(domain: Any) -> None:
    """Check that a guest's console can be opened now.

    :raises roost.exception.Conflict: when the guest does not run
    :raises roost.exception.Unsupported: when it has no such console
    """
    uuid = domain.UUIDString()
    if not domain.isActive():
        raise exception.Conflict(f"The guest {uuid} does not run.")
    if not is_there(parse(domain.XMLDesc())):
        raise exception.Unsupported(f"The guest {uuid} has no interactive serial console.")


def connect(opened: Any, uuid: str) -> socket.socket:
    """Return a socket that carries the guest's output and input.

    It closes when the guest stops, or when another client opens its console.

    :param opened: a connection to libvirtd, which is closed with the returned socket
    :raises roost.exception.Conflict: when another client opens it at the same moment
    """
    stream = opened.newStream(libvirt.VIR_STREAM_NONBLOCK)
    try:
        opened.lookupByUUIDString(uuid).openConsole(_FIRST, stream, _LAST_ONE_HAS_IT)
    except libvirt.libvirtError as error:
        if error.get_error_code() not in _LOST:
            raise
        raise exception.Conflict(
            f"Another client is opening the serial console of the guest {uuid}.", why=str(error)
        ) from error
    ours, theirs = socket.socketpair()
    threading.Thread(
        target=_serve, args=(opened, stream, theirs), name="serial console", daemon=True
    ).start()
    return ours


def _serve(opened: Any, stream: Any, side: socket.socket) -> None:
    """Copy data in both directions until one side closes; then close all.

    The stream is not aborted: if it has just ended at the other side, libvirt would wait for the
    answer for ever. It ends with its connection.
    """
    with side, contextlib.suppress(OSError, libvirt.libvirtError):
        side.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _ROOM)
        _copy_both_ways(opened, stream, side)
    opened.close()


def _copy_both_ways(opened: Any, stream: Any, side: socket.socket) -> None:
    """Poll both sides, the less often the longer there is no data.

    libvirt's stream callbacks leak: libvirt never releases them. Streams do not report the loss of
    libvirtd, connections do.
    """
    out, pause = _Out(side), _SHORTEST
    with selectors.DefaultSelector() as typing:
        typing.register(side, selectors.EVENT_READ)
        while (output := stream.recv(_CHUNK)) != b"" and opened.isAlive() == 1:
            quiet = output == _NOTHING
            if not quiet:
                out.send(output)
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
    """Sends a guest's output to the client, and never waits for the client.

    Unread stream data would pile up in this process, so it is dropped instead.
    """

    def __init__(self, side: socket.socket) -> None:
        self._side = side
        self._has_logged = False

    def send(self, output: bytes) -> None:
        taken = 0
        with contextlib.suppress(BlockingIOError):
            taken = self._side.send(output, socket.MSG_DONTWAIT)
        if taken < len(output) and not self._has_logged:
            LOG.info("a serial console's client reads too slowly; parts are only in the log")
            self._has_logged = True
