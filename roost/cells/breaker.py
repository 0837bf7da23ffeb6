"""What keeps a part of a cell that is unavailable from costing more than one bounded wait.

A breaker stands before one database or one bus, in one process. *Closed*, it lets everybody pass.
The first failure *opens* it: from then on everybody is refused at once, and those who wait for
their turn as well. One thread of its own looks, in pauses that grow, whether the part answers again
(*half open*); when it does, the breaker closes. So no request ever pays for the looking.
"""

import contextlib
import dataclasses
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from roost import exception

LOG = logging.getLogger(__name__)
CROWD: Final = 4  # as many may wait for a part that has fallen silent, before it is given up
_FIRST_PAUSE: Final = 0.5


@dataclasses.dataclass(frozen=True)
class CallLimits:
    """How long one waits for a part of a cell, in seconds, and how many may use it at once.

    :param timeout: how long it may take to answer
    :param longest_pause: between two looks whether it is back
    :param places: how many may be inside; others wait for their turn
    """

    timeout: float = 5.0
    longest_pause: float = 10.0
    places: int = 64


class GuardedCall:
    """One use of the part, from the moment it was let in."""

    def __init__(self, begun: float) -> None:
        self.begun = begun
        self.error: exception.Unavailable | None = None

    def blame(self, error: exception.Unavailable) -> None:
        """Say that the part itself failed."""
        self.error = error


@dataclasses.dataclass(frozen=True)
class _Open:
    since: float
    reason: str


class CircuitBreaker:
    """Lets uses of ``name`` pass while it answers.

    :param ask: raises Unavailable while the part does not answer; takes a bounded time
    :param clock: seconds, as ``time.monotonic`` has them
    :param spawn: runs the looking in a thread of its own
    :param pause: waits between two looks; True: it is not to be looked any more
    """

    def __init__(
        self,
        name: str,
        ask: Callable[[], None],
        *,
        limits: CallLimits,
        clock: Callable[[], float] = time.monotonic,
        spawn: Callable[[Callable[[], None]], None] | None = None,
        pause: Callable[[float], bool] | None = None,
    ) -> None:
        self.name = name
        self._ask = ask
        self._limits = limits
        self._clock = clock
        self._spawn = spawn or _in_thread
        self._stopping = threading.Event()
        self._pause = pause or self._stopping.wait
        self._change = threading.Condition()
        self._inside: set[GuardedCall] = set()
        self._open: _Open | None = None
        self._closed_at = self._last_answer = float("-inf")

    @property
    def is_open(self) -> bool:
        return self._open is not None

    def check(self) -> None:
        """Raise :class:`roost.exception.Away` while the breaker is open."""
        found = self._open
        if found is not None:
            seconds = self._clock() - found.since
            raise exception.Away(
                f"{self.name} cannot be reached since {seconds:.1f} s: {found.reason}"
            )

    @contextlib.contextmanager
    def passing(self) -> Iterator[GuardedCall]:
        """Let one use pass; it says by :meth:`GuardedCall.blame` when the part itself failed.

        :raises roost.exception.Away: at once, when the part is away; nothing was done
        """
        guarded_call = self._enter()
        try:
            yield guarded_call
        finally:
            self._leave(guarded_call)

    def close(self) -> None:
        """Look no more."""
        self._stopping.set()

    def _enter(self) -> GuardedCall:
        with self._change:
            until = self._clock() + self._limits.timeout
            self.check()
            self._refuse_a_crowd()
            while len(self._inside) >= self._limits.places:
                left = until - self._clock()
                if left <= 0 or not self._change.wait(left):
                    raise exception.Away(f"{self.name} is too busy: {len(self._inside)} are inside")
                self.check()
            guarded_call = GuardedCall(self._clock())
            self._inside.add(guarded_call)
            return guarded_call

    def _refuse_a_crowd(self) -> None:
        """Keep threads out of a part that lets nobody go: it may be away, and nobody knows yet."""
        if len(self._inside) < CROWD:
            return
        oldest = min(guarded_call.begun for guarded_call in self._inside)
        silent = self._clock() - max(oldest, self._last_answer)
        if silent > self._limits.timeout / 2:
            raise exception.Away(f"{self.name} has not answered anybody for {silent:.1f} s")

    def _leave(self, guarded_call: GuardedCall) -> None:
        with self._change:
            self._inside.discard(guarded_call)
            if guarded_call.error is None:
                self._last_answer = self._clock()
                self._change.notify()
            elif self._open is None and guarded_call.begun >= self._closed_at:
                self._abandon(guarded_call.error)

    def _abandon(self, error: exception.Unavailable) -> None:
        LOG.warning("%s is away, doing without it: %s", self.name, error.message)
        self._open = _Open(self._clock(), error.message)
        self._change.notify_all()
        self._spawn(self._look)

    def _look(self) -> None:
        """Ask until there is an answer; the first time at once, as it may have been an accident."""
        for pause in self._pauses():
            if pause and self._pause(pause):
                return
            if self._answers():
                self._let_pass()
                return

    def _pauses(self) -> Iterator[float]:
        yield 0.0
        for step in itertools.count():
            yield min(_FIRST_PAUSE * 2**step, self._limits.longest_pause)

    def _answers(self) -> bool:
        try:
            self._ask()
        except exception.RoostError as error:
            LOG.debug("%s is still away: %s", self.name, error.message)
        except Exception:
            LOG.exception("%s cannot be asked whether it is back", self.name)
        else:
            return True
        return False

    def _let_pass(self) -> None:
        with self._change:
            found, self._open = self._open, None
            self._closed_at = self._last_answer = self._clock()
            self._change.notify_all()
        if found is not None:
            LOG.info("%s is back after %.1f s", self.name, self._closed_at - found.since)


def _in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="roost-breaker", daemon=True).start()
