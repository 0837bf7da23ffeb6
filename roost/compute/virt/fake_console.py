"""Consoles of guests that are only pretended: they greet, and say again what they are told."""

import logging
import socket
import threading
from collections.abc import Callable
from typing import Final

from roost import consoles

LOG = logging.getLogger(__name__)
GREETINGS: Final = {
    consoles.VNC: b"RFB 003.008\n",  # what servers of VNC begin with (RFC 6143, 7.1.1)
    consoles.SPICE: b"REDQ",  # what answers of SPICE's servers begin with
    consoles.SERIAL: b"login: ",
}
_LOOK: Final = 0.2  # seconds between two looks whether the guest still runs


def start(kind: str, *, runs: Callable[[], bool]) -> socket.socket:
    """Return one end of a console, which lives as long as its guest runs."""
    ours, theirs = socket.socketpair()
    threading.Thread(
        target=_speak, args=(theirs, GREETINGS[kind], runs), name="fake console", daemon=True
    ).start()
    return ours


def _speak(side: socket.socket, greeting: bytes, runs: Callable[[], bool]) -> None:
    with side:
        side.settimeout(_LOOK)
        try:
            side.sendall(greeting)
            while runs():
                try:
                    said = side.recv(4096)
                except TimeoutError:
                    continue
                if not said:
                    return
                side.sendall(said)
        except OSError as error:
            LOG.debug("a pretended console came to an end: %s", error)
