"""Work of concurrent threads, carried out together by the one of them that comes first.

Nobody waits for a group to fill: what comes while one is carried out is the next.
"""

import collections
import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar


class Awaited(Protocol):
    """An order that a thread waits for; ``done`` is set once it is carried out."""

    done: bool


T = TypeVar("T", bound=Awaited)


class _Seat(Generic[T]):
    """An entry of the queue: its thread wakes when its orders are done, or to do the work."""

    def __init__(self, orders: Sequence[T]) -> None:
        self._orders = orders
        self.wake = threading.Event()

    def left(self) -> list[T]:
        """Return the orders that are not done."""
        return [order for order in self._orders if not order.done]


class GroupCommit(Generic[T]):
    """Collects the orders of threads; one thread at a time carries out all that are queued.

    The others sleep until their own orders are done, or until they are the next to work.

    :param carry_out: carries out a batch, and returns the orders to repeat in the next one; must
        not raise, but set the error of each order
    :param most: threads whose orders are one batch; more would hold locks too long
    """

    def __init__(self, carry_out: Callable[[list[T]], Sequence[T]], *, most: int = 100) -> None:
        self._carry_out = carry_out
        self._most = most
        self._queue: collections.deque[_Seat[T]] = collections.deque()
        self._entering = threading.Lock()
        self._busy = False

    def submit(self, *orders: T) -> None:
        """Return when the orders were carried out, by this thread or another."""
        seat = _Seat(orders)
        with self._entering:
            self._queue.append(seat)
            works, self._busy = not self._busy, True
        if not works:
            seat.wake.wait()
        if seat.left():
            try:
                while seat.left():
                    self._work(seat)
            finally:
                self._hand_over()

    def _work(self, own: _Seat[T]) -> None:
        """Carry out one batch, and wake the threads whose orders are all done.

        After an error the other orders return to the queue, or their threads would wait for ever.
        """
        with self._entering:
            batch = [self._queue.popleft() for _ in range(min(self._most, len(self._queue)))]
        try:
            orders = [order for seat in batch for order in seat.left()]
            again = {id(order) for order in self._carry_out(orders)}
        except BaseException:
            with self._entering:
                self._queue.extendleft(seat for seat in reversed(batch) if seat is not own)
            raise
        with self._entering:
            unfinished = [seat for seat in batch if again.intersection(map(id, seat.left()))]
            self._queue.extendleft(reversed(unfinished))
        for seat in batch:
            if seat not in unfinished:
                seat.wake.set()

    def _hand_over(self) -> None:
        """Wake the next thread in the queue, if any, to do the work."""
        with self._entering:
            self._busy = bool(self._queue)
            if self._queue:
                self._queue[0].wake.set()
