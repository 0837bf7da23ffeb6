"""Simulated consoles: each sends a greeting, and echoes its input.

A VNC console serves a 1x1 screen to clients that complete the RFB handshake.
"""

import logging
import socket
import struct
import threading
from collections.abc import Callable
from typing import Final

from roost.objects import consoles

LOG = logging.getLogger(__name__)
GREETINGS: Final = {
    consoles.VNC: b"RFB 003.008\n",  # the server's version message (RFC 6143, 7.1.1)
    consoles.SPICE: b"REDQ",  # the magic number of SPICE's link messages
    consoles.SERIAL: b"login: ",
}
_NAME: Final = b"pretended"
_FORMAT: Final = struct.pack(">BBBBHHHBBBxxx", 32, 24, 0, 1, 255, 255, 255, 16, 8, 0)
# The viewer's messages of the handshake, and the server's replies (RFC 6143, 7.1 to 7.3).
_WELCOME: Final = (
    ({b"RFB 003.008\n"}, b"\x01\x01"),  # one security type: none
    ({b"\x01"}, bytes(4)),  # SecurityResult: OK
    ({b"\x00", b"\x01"}, struct.pack(">HH16sL", 1, 1, _FORMAT, len(_NAME)) + _NAME),
)
_LOOK: Final = 0.2  # seconds between two checks whether the guest still runs


def start(kind: str, *, runs: Callable[[], bool]) -> socket.socket:
    """Return the client's end of a console, which closes when its guest stops."""
    ours, theirs = socket.socketpair()
    answer = _Viewer() if kind == consoles.VNC else bytes  # bytes: echo
    threading.Thread(
        target=_speak,
        args=(theirs, GREETINGS[kind], answer, runs),
        name="fake console",
        daemon=True,
    ).start()
    return ours


class _Viewer:
    """The server's side of RFB; echoes everything after an unexpected message."""

    def __init__(self) -> None:
        self._welcome = list(_WELCOME)
        self._is_one = True

    def __call__(self, received: bytes) -> bytes:
        if not self._is_one:
            return received
        if not self._welcome:
            return b""  # nothing changes on this screen
        expected, answer = self._welcome.pop(0)
        self._is_one = received in expected
        return answer if self._is_one else received


def _speak(
    side: socket.socket,
    greeting: bytes,
    answer: Callable[[bytes], bytes],
    runs: Callable[[], bool],
) -> None:
    with side:
        side.settimeout(_LOOK)
        try:
            side.sendall(greeting)
            while runs():
                try:
                    received = side.recv(4096)
                except TimeoutError:
                    continue
                if not received:
                    return
                side.sendall(answer(received))
        except OSError as error:
            LOG.debug("a simulated console failed: %s", error)
