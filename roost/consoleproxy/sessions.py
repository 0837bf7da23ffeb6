"""One open console: relays between the browser and the guest.

``connect`` sends the token to the listener of the guest's host
(``compute/operations/consoles.py``), which connects it to the console.
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

_CONNECT_SECONDS: Final = 10.0  # seconds that a host may take to accept a token
_LONGEST: Final = 1024  # bytes of its answer


def connect(target: ConsoleTarget, token: str) -> socket.socket:
    """Return a connection to a console; the console's data comes next.

    :raises roost.exception.Unavailable: when the host cannot be reached or refuses the token
    """
    try:
        connection = socket.create_connection((target.host, target.port), timeout=_CONNECT_SECONDS)
    except OSError as error:
        raise _closed(target, str(error)) from error
    try:
        connection.sendall(consoles.GREETING.format(token=token).encode())
        _await_welcome(connection, target)
    except OSError as error:
        connection.close()
        raise _closed(target, str(error)) from error
    except exception.Unavailable:
        connection.close()
        raise
    return connection


def _await_welcome(connection: socket.socket, target: ConsoleTarget) -> None:
    """Read exactly the welcome: the console's data follows."""
    said = b""
    while not said.endswith(consoles.END):
        more = connection.recv(1)
        if not more or len(said) > _LONGEST:
            raise _closed(target, "it does not know the token, or has no such console")
        said += more
    if said != consoles.WELCOME:
        raise _closed(target, "its answer is not that of a console listener")


def _closed(target: ConsoleTarget, why: str) -> exception.Unavailable:
    return exception.Unavailable(
        f"The consoles at port {target.port} of {target.host} cannot be reached: {why}"
    )


_LOOK: Final = 0.5  # seconds between two checks whether it is to end
_CHUNK: Final = 65536  # bytes
_PATIENCE: Final = 60.0  # seconds that a guest may take to read input


class ConsoleSession:
    """Lasts until either side closes it, until it is idle for too long, or :meth:`end`.

    :param idle: seconds without data in either direction after which it ends
    """

    def __init__(
        self,
        target: ConsoleTarget,
        browser: ServerConnection,
        console: socket.socket,
        *,
        idle: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.target = target
        self._browser = browser
        self._console = console
        self._idle = idle
        self._clock = clock
        self._active_at = clock()
        self._ending = threading.Event()

    def run(self) -> None:
        """Relay until the session ends; close both sides."""
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
        """End the session soon; it may have ended already."""
        self._ending.set()

    def _pass_out(self) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._console, selectors.EVENT_READ)
            while not self._ending.is_set() and self._clock() - self._active_at < self._idle:
                if not waiting.select(_LOOK):
                    continue
                said = self._console.recv(_CHUNK)
                if not said:
                    return
                self._active_at = self._clock()
                self._browser.send(said)

    def _pass_in(self) -> None:
        with contextlib.suppress(OSError, ConnectionClosed):
            while not self._ending.is_set():
                typed = self._browser.recv(decode=False)
                self._active_at = self._clock()
                self._console.sendall(typed)
        self._ending.set()
