"""One open console: what the browser says goes to the guest, and the other way round."""

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable
from typing import Final

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from roost.consoleproxy.tokens import Place

_LOOK: Final = 0.5  # seconds between two looks whether it is to end
_CHUNK: Final = 65536  # bytes
_PATIENCE: Final = 60.0  # seconds in which a guest must take what is typed


class Visit:
    """Lasts until either side ends it, nobody says anything for long, or :meth:`end`.

    :param idle: seconds after which nobody has said anything for long
    """

    def __init__(
        self,
        place: Place,
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
