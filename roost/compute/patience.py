"""Insisting on what a conductor must hear, while it or the bus is away."""

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from roost import exception

LOG = logging.getLogger(__name__)
T = TypeVar("T")


class Patience:
    """Repeats what could not be delivered, with growing pauses, for a bounded time.

    :param seconds: how long to insist in all
    :param first: the first pause, in seconds; each next one is twice as long
    :param longest: the longest pause, in seconds
    :param clock: seconds that never go back
    """

    def __init__(
        self,
        *,
        seconds: float = 600.0,
        first: float = 0.5,
        longest: float = 15.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._first = first
        self._longest = longest
        self._clock = clock

    def insist(self, what: str, send: Callable[[], T], *, stopping: threading.Event) -> T:
        """Call ``send``, which must be safe to repeat, until it is answered, whatever the answer.

        :param what: names it in the log
        :param stopping: once set, whatever is tried is tried for the last time
        :raises roost.exception.Unavailable: when time is up
        """
        deadline = self._clock() + self._seconds
        pause = self._first
        while True:
            try:
                return send()
            except exception.Unavailable as error:
                if stopping.is_set() or self._clock() + pause > deadline:
                    raise
                LOG.warning("%s: %s; again in %g s", what, error.message, pause)
            stopping.wait(pause)
            pause = min(2 * pause, self._longest)
