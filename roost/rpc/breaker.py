"""Remembers that a bus is away, so that only the first to send wait for it."""

import logging
import threading
from collections.abc import Callable
from typing import Final

from roost import exception

LOG = logging.getLogger(__name__)
PAUSE: Final = 1.0  # seconds between two looks whether the bus is back


class Breaker:
    """Whether a bus is known to be away.

    While it is, one thread tries to reach it; others need not.

    :param connect: reaches the bus once, or raises
    """

    def __init__(self, name: str, connect: Callable[[], object], *, pause: float = PAUSE) -> None:
        self._name = name
        self._connect = connect
        self._pause = pause
        self._lock = threading.Lock()
        self._away = False
        self._closed = threading.Event()

    @property
    def is_away(self) -> bool:
        return self._away

    def check(self) -> None:
        """Raise :class:`roost.exception.Unavailable` while the bus is known to be away."""
        if self._away:
            raise exception.Unavailable(f"the bus {self._name!r} is away")

    def trip(self) -> None:
        """Note that the bus did not take a message: it is away until it can be reached again."""
        with self._lock:
            if self._away or self._closed.is_set():
                return
            self._away = True
        LOG.warning("the bus %r is away", self._name)
        threading.Thread(target=self._mend, daemon=True, name="roost-breaker").start()

    def close(self) -> None:
        """Try no more."""
        self._closed.set()

    def _mend(self) -> None:
        while not self._closed.is_set():
            try:
                self._connect()
            except Exception as error:  # noqa: BLE001 - whatever it is, the broker is not back yet
                LOG.debug("the bus %r is still away: %s", self._name, error)
                self._closed.wait(self._pause)
            else:
                self._away = False
                LOG.warning("the bus %r is back", self._name)
                return
