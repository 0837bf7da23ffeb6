"""Asks several cells the same at once, and does without those that do not answer."""

import functools
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import TypeVar

from roost import exception
from roost.cells import Cell

LOG = logging.getLogger(__name__)
T = TypeVar("T")


class Gatherer:
    """A scatter and gather with a breaker: a cell that is away costs one bounded wait, then none.

    :param timeout: seconds that all cells together get to answer
    :param pause: seconds for which a cell that did not is not asked again
    """

    def __init__(self, executor: futures.Executor, *, timeout: float, pause: float) -> None:
        self._executor = executor
        self._timeout = timeout
        self._pause = pause
        self._lock = threading.Lock()
        self._away: dict[str, float] = {}

    def from_each(self, cells: Sequence[Cell], work: Callable[[Cell], T]) -> list[tuple[Cell, T]]:
        """Return what the cells that can be reached answer, in the order of ``cells``.

        What ``work`` raises for other reasons than :class:`roost.exception.Unavailable` is raised.
        """
        asked = [cell for cell in cells if self._may_ask(cell)]
        waiting = [(cell, self._executor.submit(work, cell)) for cell in asked]
        until = time.monotonic() + self._timeout
        answers = []
        for cell, future in waiting:
            try:
                answers.append((cell, _result(future, until, functools.partial(work, cell))))
            except (exception.Unavailable, futures.TimeoutError) as error:
                self._leave_alone(cell, error)
        return answers

    def _may_ask(self, cell: Cell) -> bool:
        with self._lock:
            return self._away.get(cell.uuid, 0.0) <= time.monotonic()

    def _leave_alone(self, cell: Cell, error: Exception) -> None:
        LOG.warning(
            "the cell %s does not answer, doing without it for %s s: %s",
            cell.name,
            self._pause,
            error or type(error).__name__,
        )
        with self._lock:
            self._away[cell.uuid] = time.monotonic() + self._pause


def _result(future: futures.Future[T], until: float, work: Callable[[], T]) -> T:
    """Wait for an answer; what no thread was free for in time is done by ours.

    Otherwise one cell that hangs, and holds all threads, would make the others look away.
    """
    try:
        return future.result(max(0.0, until - time.monotonic()))
    except futures.TimeoutError:
        if future.cancel():
            return work()
        raise
