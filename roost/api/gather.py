"""Scatter-gather over cells: queries several at once, and skips those that do not answer."""

import dataclasses
import functools
import logging
import time
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Final, Generic, TypeVar

from roost import exception
from roost.cells import Cell
from roost.context import carried

LOG = logging.getLogger(__name__)
T = TypeVar("T")
_LOOK: Final = 0.05  # seconds between two checks whether a cell has become unavailable


@dataclasses.dataclass(frozen=True)
class Gathered(Generic[T]):
    """The answers of the available cells, in order of the cells, and the unavailable cells."""

    answers: list[tuple[Cell, T]]
    unavailable: list[Cell]


class Gatherer:
    """Sends a query to cells, and gathers the answers in a bounded time.

    A cell that is known to be unavailable is skipped: see :mod:`roost.circuit_breaker`.

    :param timeout: seconds that all cells together get to answer
    """

    def __init__(self, executor: futures.Executor, *, timeout: float) -> None:
        self._executor = executor
        self._timeout = timeout

    def from_each(self, cells: Sequence[Cell], work: Callable[[Cell], T]) -> Gathered[T]:
        """Return the answers of the cells.

        Raises what ``work`` raises, except :class:`roost.exception.Unavailable`.
        """
        asked = [
            (cell, self._executor.submit(carried(work), cell) if cell.is_readable else None)
            for cell in cells
        ]
        until = time.monotonic() + self._timeout
        answers, unavailable = [], []
        for cell, future in asked:
            try:
                answers.append((cell, _result(cell, future, until, functools.partial(work, cell))))
            except (exception.Unavailable, futures.TimeoutError) as error:
                LOG.info("skipping the %s: %s", cell, error or type(error).__name__)
                unavailable.append(cell)
        return Gathered(answers, unavailable)


def _result(cell: Cell, future: futures.Future[T] | None, until: float, work: Callable[[], T]) -> T:
    """Wait for an answer until the cell becomes unavailable.

    If no thread was free in time, this thread runs the query: otherwise one cell that hangs, and
    holds all threads, would make the others look unavailable.
    """
    if future is None:
        raise exception.Away("it is unavailable")
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
