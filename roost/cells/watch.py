"""Looks at all cells again and again, so that no user is the first to wait for one that is away."""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from roost import concurrency, exception
from roost.cells.cell import Cell

if TYPE_CHECKING:
    from concurrent import futures

LOG = logging.getLogger(__name__)


class Watch:
    """Knocks at every cell; each is waited for by a thread of its own.

    :param cells: tells which cells there are
    :param interval: seconds between two knocks
    """

    def __init__(self, cells: Callable[[], Sequence[Cell]], *, interval: float) -> None:
        self._cells = cells
        self._interval = interval
        self._stopping = threading.Event()
        self._knocking: dict[str, futures.Future[Any]] = {}

    def start(self) -> None:
        """Go on until :meth:`close`, in a thread."""
        concurrency.abandonable(self._run, name="roost-cells")

    def close(self) -> None:
        self._stopping.set()

    def knock(self) -> None:
        """Knock at every cell that is not still waited for; return at once."""
        for cell in self._cells():
            waited_for = self._knocking.get(cell.uuid)
            if waited_for is None or waited_for.done():
                self._knocking[cell.uuid] = concurrency.abandonable(cell.knock, name="roost-knock")

    def _run(self) -> None:
        while not self._stopping.wait(self._interval):
            try:
                self.knock()
            except exception.Unavailable as error:
                LOG.debug("nobody knows which cells there are: %s", error.message)
            except Exception:
                LOG.exception("the cells cannot be looked at")
