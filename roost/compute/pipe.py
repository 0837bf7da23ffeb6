"""What one side of two sockets says goes to the other, until either has said all."""

import selectors
import socket
from collections.abc import Callable
from typing import Final

LOOK: Final = 0.5  # seconds between two looks whether it is to end
_CHUNK: Final = 65536  # bytes
_PATIENCE: Final = 60.0  # seconds in which a side must take what the other says


def join(one: socket.socket, other: socket.socket, *, until: Callable[[], bool]) -> None:
    """Pass on what both say; return when either closes, or it is to end.

    :raises OSError: when a side breaks off, or takes nothing any more
    """
    for side in (one, other):
        side.settimeout(_PATIENCE)
    with selectors.DefaultSelector() as waiting:
        waiting.register(one, selectors.EVENT_READ, (one, other))
        waiting.register(other, selectors.EVENT_READ, (other, one))
        while not until():
            for found, _ in waiting.select(LOOK):
                speaker, hearer = found.data
                said = speaker.recv(_CHUNK)
                if not said:
                    return
                hearer.sendall(said)
