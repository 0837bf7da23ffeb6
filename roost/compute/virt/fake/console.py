"""Consoles of guests that are only pretended: they greet, and say again what they are told.

A screen of VNC shows a single dark dot to who answers as a viewer does.
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
    consoles.VNC: b"RFB 003.008\n",  # what servers of VNC begin with (RFC 6143, 7.1.1)
    consoles.SPICE: b"REDQ",  # what answers of SPICE's servers begin with
    consoles.SERIAL: b"login: ",
}
_NAME: Final = b"pretended"
_FORMAT: Final = struct.pack(">BBBBHHHBBBxxx", 32, 24, 0, 1, 255, 255, 255, 16, 8, 0)
# What viewers say, each followed by what their server answers (RFC 6143, 7.1 to 7.3).
_WELCOME: Final = (
    ({b"RFB 003.008\n"}, b"\x01\x01"),  # one kind of security: none
    ({b"\x01"}, bytes(4)),  # it is theirs, too
    ({b"\x00", b"\x01"}, struct.pack(">HH16sL", 1, 1, _FORMAT, len(_NAME)) + _NAME),
)
_LOOK: Final = 0.2  # seconds between two looks whether the guest still runs


def start(kind: str, *, runs: Callable[[], bool]) -> socket.socket:
    """Return one end of a console, which lives as long as its guest runs."""
    ours, theirs = socket.socketpair()
    answer = _Viewer() if kind == consoles.VNC else bytes  # bytes: the same again
    threading.Thread(
        target=_speak,
        args=(theirs, GREETINGS[kind], answer, runs),
        name="fake console",
        daemon=True,
    ).start()
    return ours


class _Viewer:
    """What a screen answers: who once was no viewer hears their own words from then on."""

    def __init__(self) -> None:
        self._welcome = list(_WELCOME)
        self._is_one = True

    def __call__(self, said: bytes) -> bytes:
        if not self._is_one:
            return said
        if not self._welcome:
            return b""  # nothing changes on this screen
        expected, answer = self._welcome.pop(0)
        self._is_one = said in expected
        return answer if self._is_one else said


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
                    said = side.recv(4096)
                except TimeoutError:
                    continue
                if not said:
                    return
                side.sendall(answer(said))
        except OSError as error:
            LOG.debug("a pretended console came to an end: %s", error)
