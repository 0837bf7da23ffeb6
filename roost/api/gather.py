"""Scatter-gather over cells: asks several at once, and does without those that do not answer."""

import dataclasses
import functools
import logging
import time
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Final, Generic, TypeVar

from roost import exception
from roost.cells import Cell

LOG = logging.getLogger(__name__)
T = TypeVar("T")
_LOOK: Final = 0.05  # seconds between two looks whether a cell has been given up meanwhile


@dataclasses.dataclass(frozen=True)
class Gathered(Generic[T]):
    """What the cells that can be reached answered, in their order, and those that cannot."""

    answers: list[tuple[Cell, T]]
    away: list[Cell]


class Gatherer:
    """Scatters a question over cells, and gathers the answers in a bounded time.

    A cell that is known to be away is not asked: see :mod:`roost.circuit_breaker`.

    :param timeout: seconds that all cells together get to answer
    """

    def __init__(self, executor: futures.Executor, *, timeout: float) -> None:
        self._executor = executor
        self._timeout = timeout

    def from_each(self, cells: Sequence[Cell], work: Callable[[Cell], T]) -> Gathered[T]:
        """Return what the cells answer.

        What ``work`` raises for other reasons than :class:`roost.exception.Unavailable` is raised.
        """
        asked = [
            (cell, self._executor.submit(work, cell) if cell.is_readable else None)
            for cell in cells
        ]
        until = time.monotonic() + self._timeout
        answers, away = [], []
        for cell, future in asked:
            try:
                answers.append((cell, _result(cell, future, until, functools.partial(work, cell))))
            except (exception.Unavailable, futures.TimeoutError) as error:
                LOG.info("doing without the %s: %s", cell, error or type(error).__name__)
                away.append(cell)
        return Gathered(answers, away)


def _result(cell: Cell, future: futures.Future[T] | None, until: float, work: Callable[[], T]) -> T:
    """Wait for an answer, while the cell is not given up.

    What no thread was free for in time is done by ours: otherwise one cell that hangs, and holds
    all threads, would make the others look away.
    """
    if future is None:
        raise exception.Away("it is away")
    while cell.is_readable:
        left = until - time.monotonic()
        try:
            return future.result(max(0.0, min(left, _LOOK)))
        except futures.TimeoutError:
            if left > _LOOK:
                continue
            if future.cancel():
                return work()
            raise
    return future.result(0)
