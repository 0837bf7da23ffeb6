"""Work that a daemon does again and again."""

import logging
import threading
from collections.abc import Callable

from roost import exception

LOG = logging.getLogger(__name__)


class Periodic:
    """Calls a function at once and then every ``seconds``, in a thread of its own.

    What the function raises is logged, and it is called again all the same.

    :param seconds: from the end of one call to the next; a callable is asked each time, so that an
        option may change under way
    """

    def __init__(
        self, seconds: float | Callable[[], float], function: Callable[[], object], name: str
    ) -> None:
        self.name = name
        self._seconds = seconds
        self._function = function
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._repeat, name=self.name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Call no more; a call under way goes on."""
        self._stopping.set()

    def wait(self) -> None:
        """Wait for the end of the call under way."""
        if self._thread is not None:
            self._thread.join()

    def _repeat(self) -> None:
        while not self._stopping.is_set():
            self._call()
            self._stopping.wait(self._pause())

    def _pause(self) -> float:
        return self._seconds() if callable(self._seconds) else self._seconds

    def _call(self) -> None:
        try:
            self._function()
        except exception.Unavailable as error:
            LOG.warning("%s: %s; again in %g s", self.name, error.message, self._pause())
        except Exception:
            LOG.exception("%s failed; again in %g s", self.name, self._pause())
