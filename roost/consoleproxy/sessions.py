"""One open console: what the browser says goes to the guest, and the other way round.

The way there is the listener of the guest's host (``compute/operations/consoles.py``): who brings
it the token is let in (``enter``).
"""

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable
from typing import Final

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from roost import exception
from roost.consoleproxy.tokens import ConsoleTarget
from roost.objects import consoles

_DOOR_SECONDS: Final = 10.0  # seconds that a host has to let somebody in
_LONGEST: Final = 1024  # bytes of what it answers


def enter(place: ConsoleTarget, token: str) -> socket.socket:
    """Return a connection on which the console speaks next.

    :raises roost.exception.Unavailable: when the host does not let us in
    """
    try:
        door = socket.create_connection((place.host, place.port), timeout=_DOOR_SECONDS)
    except OSError as error:
        raise _closed(place, str(error)) from error
    try:
        door.sendall(consoles.GREETING.format(token=token).encode())
        _await_welcome(door, place)
    except OSError as error:
        door.close()
        raise _closed(place, str(error)) from error
    except exception.Unavailable:
        door.close()
        raise
    return door


def _await_welcome(door: socket.socket, place: ConsoleTarget) -> None:
    """Read exactly the welcome: what comes after it is the console's."""
    said = b""
    while not said.endswith(consoles.END):
        more = door.recv(1)
        if not more or len(said) > _LONGEST:
            raise _closed(place, "it does not know the token, or has nobody to lead to")
        said += more
    if said != consoles.WELCOME:
        raise _closed(place, "it answers what no door does")


def _closed(place: ConsoleTarget, why: str) -> exception.Unavailable:
    return exception.Unavailable(
        f"The consoles at port {place.port} of {place.host} cannot be reached: {why}"
    )


_LOOK: Final = 0.5  # seconds between two looks whether it is to end
_CHUNK: Final = 65536  # bytes
_PATIENCE: Final = 60.0  # seconds in which a guest must take what is typed


class ConsoleSession:
    """Lasts until either side ends it, nobody says anything for long, or :meth:`end`.

    :param idle: seconds after which nobody has said anything for long
    """

    def __init__(
        self,
        place: ConsoleTarget,
        browser: ServerConnection,
        console: socket.socket,
        *,
        idle: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.place = place
        self._browser = browser
        self._console = console
        self._idle = idle
        self._clock = clock
        self._heard = clock()
        self._ending = threading.Event()

    def last(self) -> None:
        """Return when it is over; both sides are closed then."""
        self._console.settimeout(_PATIENCE)
        typing = threading.Thread(target=self._pass_in, name="console in", daemon=True)
        typing.start()
        with contextlib.suppress(OSError, ConnectionClosed):
            self._pass_out()
        self._ending.set()
        self._browser.close()
        self._console.close()
        typing.join()

    def end(self) -> None:
        """Let it be over soon; it may be so already."""
        self._ending.set()

    def _pass_out(self) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._console, selectors.EVENT_READ)
            while not self._ending.is_set() and self._clock() - self._heard < self._idle:
                if not waiting.select(_LOOK):
                    continue
                said = self._console.recv(_CHUNK)
                if not said:
                    return
                self._heard = self._clock()
                self._browser.send(said)

    def _pass_in(self) -> None:
        with contextlib.suppress(OSError, ConnectionClosed):
            while not self._ending.is_set():
                typed = self._browser.recv(decode=False)
                self._heard = self._clock()
                self._console.sendall(typed)
        self._ending.set()
