"""Answers that many want at once, and that may be some seconds old."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from roost import exception

T = TypeVar("T")


class Recent(Generic[T]):
    """One answer for all who ask within some seconds; who comes meanwhile waits for the same.

    A failure is shared like an answer: one wait for a peer that is away, not one for each.

    :param seconds: how old an answer may be
    """

    def __init__(self, *, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._asking = threading.Lock()
        self._until = clock()
        self._recall: Callable[[], T] | None = None

    def get(self, ask: Callable[[], T]) -> T:
        """Return what ``ask`` answers, or answered to somebody a moment ago.

        :raises roost.exception.RoostError: what it raised
        """
        with self._asking:
            if self._recall is None or self._clock() >= self._until:
                self._recall = _heard(ask)
                self._until = self._clock() + self._seconds
            recall = self._recall
        return recall()


def _heard(ask: Callable[[], T]) -> Callable[[], T]:
    """Ask, and return what says the same again."""
    try:
        answer = ask()
    except exception.RoostError as failure:
        kind, message, details = type(failure), failure.message, failure.details

        def fail() -> T:
            raise kind(message, **details)

        return fail
    return lambda: answer
