"""What keeps something that does not answer from costing more than one bounded wait.

A breaker stands before one thing that is called: a database, a bus, a service, a host. *Closed*, it
lets all calls pass. The first failure *opens* it: from then on all are refused at once, and those
who wait for their turn as well. Then, *half open*, it is found out in pauses whether there is an
answer; when there is, the breaker closes. With a probe a thread of its own does so, and no request
pays for it. Without one (only a user's request knows what to ask of a service, and with which
token) the first call after a pause is let through, and the others follow its answer.
"""

import contextlib
import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from roost import concurrency, exception

LOG = logging.getLogger(__name__)
CROWD: Final = 4  # as many may wait for what has fallen silent, before it is given up
PAUSE: Final = 5.0  # seconds; api/faults.py tells users to come again after as many
FOREVER: Final = float("inf")


class GuardedCall:
    """One call, from the moment it was let in."""

    def __init__(self, begun: float, timeout: float) -> None:
        self.begun = begun
        self.timeout = timeout
        self.failure: str | None = None

    def blame(self, reason: object) -> None:
        """Say that what was called does not answer; nothing else that fails counts."""
        self.failure = str(reason)


@dataclasses.dataclass
class _Open:
    since: float
    reason: str
    until: float
    trial: GuardedCall | None = None  # lets the others follow


class CircuitBreaker:
    """Lets calls of ``name`` pass while it answers.

    :param probe: raises while it does not answer; takes a bounded time
    :param timeout: seconds that a call may wait for its turn, and take
    :param places: how many may be inside; others wait for their turn
    :param pause: seconds between the first two probes; each next pause is twice as long
    :param longest_pause: None: all pauses are as long as the first
    :param clock: seconds, as ``time.monotonic`` has them
    :param spawn: runs the probing in a thread of its own
    :param wait: waits between two probes; True: there are to be no more
    """

    def __init__(
        self,
        name: str,
        probe: Callable[[], object] | None = None,
        *,
        timeout: float = FOREVER,
        places: float = FOREVER,
        pause: float = PAUSE,
        longest_pause: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        spawn: Callable[[Callable[[], None]], object] | None = None,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self.name = name
        self._probe = probe
        self._timeout = timeout
        self._places = places
        self._pause = pause
        self._longest_pause = longest_pause or pause
        self._clock = clock
        self._spawn = spawn or _in_thread
        self._stopping = threading.Event()
        self._wait = wait or self._stopping.wait
        self._change = threading.Condition()
        self._inside: set[GuardedCall] = set()
        self._open: _Open | None = None
        self._closed_at = self._last_answer = float("-inf")

    @property
    def is_open(self) -> bool:
        return self._open is not None

    def check(self) -> None:
        """Raise :class:`roost.exception.Away` while no call would pass."""
        found = self._open
        if found is None:
            return
        now = self._clock()
        if self._probe is not None or found.trial is not None or now < found.until:
            raise exception.Away(
                f"{self.name} is away, for {now - found.since:.1f} s now: {found.reason}"
            )

    @contextlib.contextmanager
    def passing(self, timeout: float | None = None) -> Iterator[GuardedCall]:
        """Let one call pass; it says by :meth:`GuardedCall.blame` when there was no answer.

        :param timeout: of this call, where each has its own
        :raises roost.exception.Away: at once, when there would be no answer; nothing was done
        """
        call = self._enter(self._timeout if timeout is None else timeout)
        try:
            yield call
        finally:
            self._leave(call)

    def trip(self, reason: object) -> None:
        """Say that there was no answer to what has not passed here."""
        with self._change:
            if self._open is None and not self._stopping.is_set():
                self._give_up(str(reason))

    def close(self) -> None:
        """Probe no more."""
        self._stopping.set()

    def _enter(self, timeout: float) -> GuardedCall:
        with self._change:
            until = self._clock() + timeout
            self.check()
            self._refuse_a_crowd()
            while len(self._inside) >= self._places:
                left = until - self._clock()
                if left <= 0 or not self._change.wait(left):
                    raise exception.Away(f"{self.name} is too busy: {len(self._inside)} are inside")
                self.check()
            call = GuardedCall(self._clock(), timeout)
            self._inside.add(call)
            if self._open is not None:
                self._open.trial = call
            return call

    def _refuse_a_crowd(self) -> None:
        """Keep threads away from what lets nobody go: it may be away, and nobody knows yet."""
        if self._open is not None or len(self._inside) < CROWD:
            return
        oldest = min(self._inside, key=lambda call: call.begun)
        silent = self._clock() - max(oldest.begun, self._last_answer)
        if silent > oldest.timeout / 2:
            raise exception.Away(f"{self.name} has not answered anybody for {silent:.1f} s")

    def _leave(self, call: GuardedCall) -> None:
        with self._change:
            self._inside.discard(call)
            self._change.notify()
            found = self._open
            if call.failure is None:
                self._last_answer = self._clock()
                if found is not None and found.trial is call:
                    self._let_pass()
            elif found is None and call.begun >= self._closed_at:
                self._give_up(call.failure)
            elif found is not None and found.trial is call:
                found.trial, found.until = None, self._clock() + self._pause

    def _give_up(self, reason: str) -> None:
        LOG.warning("%s is away, doing without it: %s", self.name, reason)
        now = self._clock()
        self._open = _Open(now, reason, until=now + self._pause)
        self._change.notify_all()
        if self._probe is not None:
            self._spawn(self._look)

    def _look(self) -> None:
        """Probe until there is an answer: the first time at once, as it may be an accident."""
        pause = self._pause
        while not self._answers():
            if self._wait(pause):
                return
            pause = min(2 * pause, self._longest_pause)
        with self._change:
            self._let_pass()

    def _answers(self) -> bool:
        try:
            if self._probe is not None:
                self._probe()
        except exception.RoostError as error:
            LOG.debug("%s is still away: %s", self.name, error.message)
        except Exception:
            LOG.exception("%s cannot be asked whether it is back", self.name)
        else:
            return True
        return False

    def _let_pass(self) -> None:
        found, self._open = self._open, None
        self._closed_at = self._last_answer = self._clock()
        self._change.notify_all()
        if found is not None:
            LOG.info("%s is back after %.1f s", self.name, self._closed_at - found.since)


def _in_thread(work: Callable[[], None]) -> object:
    return concurrency.abandonable(work, name="roost-breaker")
