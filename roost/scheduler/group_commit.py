"""What arrives together is done together: whoever comes first does the work of all who wait."""

import collections
import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar


class Awaited(Protocol):
    """An order that somebody waits for; carrying it out sets ``done``."""

    done: bool


T = TypeVar("T", bound=Awaited)


class _Seat(Generic[T]):
    """A place in the queue: who waits here wakes when the order is done, or to do the work."""

    def __init__(self, order: T) -> None:
        self.order = order
        self.wake = threading.Event()


class GroupCommit(Generic[T]):
    """Lets threads hand in orders, and one of them at a time carry out what has come meanwhile.

    The others sleep until their own order is done, or until it is their turn to work.

    :param carry_out: does a batch, and returns those to be done again with the next one; must not
        raise, but note in each order how it went
    :param most: orders in a batch; more than that would hold locks too long
    """

    def __init__(self, carry_out: Callable[[list[T]], Sequence[T]], *, most: int = 100) -> None:
        self._carry_out = carry_out
        self._most = most
        self._queue: collections.deque[_Seat[T]] = collections.deque()
        self._entering = threading.Lock()
        self._busy = False

    def submit(self, order: T) -> None:
        """Return when the order was carried out, by this thread or another."""
        seat = _Seat(order)
        with self._entering:
            self._queue.append(seat)
            works, self._busy = not self._busy, True
        if not works:
            seat.wake.wait()
        if not order.done:
            try:
                while not order.done:
                    self._work(seat)
            finally:
                self._hand_over()

    def _work(self, own: _Seat[T]) -> None:
        """Carry out one batch, and wake those whose orders are done.

        After an accident the others are back in the queue, or they would wait for ever.
        """
        with self._entering:
            batch = [self._queue.popleft() for _ in range(min(self._most, len(self._queue)))]
        try:
            again = {id(order) for order in self._carry_out([seat.order for seat in batch])}
        except BaseException:
            with self._entering:
                self._queue.extendleft(seat for seat in reversed(batch) if seat is not own)
            raise
        with self._entering:
            self._queue.extendleft(seat for seat in reversed(batch) if id(seat.order) in again)
        for seat in batch:
            if id(seat.order) not in again:
                seat.wake.set()

    def _hand_over(self) -> None:
        """Let the next in the queue do the work, if there is any."""
        with self._entering:
            self._busy = bool(self._queue)
            if self._queue:
                self._queue[0].wake.set()
