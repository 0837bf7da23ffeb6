"""Circuit breakers: a peer that does not answer costs no more than one bounded wait.

A breaker guards the calls of one peer: a database, a bus, a service, a host. *Closed*, it lets all
calls pass. The first failure *opens* it: from then on all calls are refused at once, queued ones as
well. Then, *half open*, it tries at intervals whether the peer answers; when it does, the breaker
closes. With a probe, a thread of its own tries, at no cost for requests. Without one (only a user's
request has the call and the token for a service) the first call after a pause is the trial, and its
result decides for the others.
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
CROWD: Final = 4  # calls that may wait for a silent peer before more are refused
PAUSE: Final = 5.0  # seconds; the same as Retry-After in api/faults.py
FOREVER: Final = float("inf")


class GuardedCall:
    """One call, from the moment it was admitted."""

    def __init__(self, begun: float, timeout: float) -> None:
        self.begun = begun
        self.timeout = timeout
        self.failure: str | None = None

    def blame(self, reason: object) -> None:
        """Record that the peer did not answer; no other failure counts."""
        self.failure = str(reason)


@dataclasses.dataclass
class _Open:
    since: float
    reason: str
    until: float
    trial: GuardedCall | None = None  # its result decides for the others


class CircuitBreaker:
    """Lets calls of the peer ``name`` pass while it answers.

    :param probe: raises while the peer does not answer; takes a bounded time
    :param timeout: seconds that a call may wait for a slot, and take
    :param concurrency: limit of simultaneous calls; further calls wait
    :param pause: seconds between the first two probes; each next pause is twice as long
    :param longest_pause: None: all pauses are as long as the first
    :param clock: seconds, as ``time.monotonic`` has them
    :param spawn: runs the probes in a thread of its own
    :param wait: waits between two probes; True: stop probing
    """

    def __init__(
        self,
        name: str,
        probe: Callable[[], object] | None = None,
        *,
        timeout: float = FOREVER,
        concurrency: float = FOREVER,
        pause: float = PAUSE,
        longest_pause: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        spawn: Callable[[Callable[[], None]], object] | None = None,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self.name = name
        self._probe = probe
        self._timeout = timeout
        self._concurrency = concurrency
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
        """Raise :class:`roost.exception.Away` if calls are refused now."""
        found = self._open
        if found is None:
            return
        now = self._clock()
        if self._probe is not None or found.trial is not None or now < found.until:
            raise exception.Away(
                f"{self.name} is unavailable, for {now - found.since:.1f} s now: {found.reason}"
            )

    @contextlib.contextmanager
    def passing(self, timeout: float | None = None) -> Iterator[GuardedCall]:
        """Let one call pass; it reports a missing answer by :meth:`GuardedCall.blame`.

        :param timeout: of this call, where each has its own
        :raises roost.exception.Away: at once, while the peer does not answer; nothing was done
        """
        call = self._enter(self._timeout if timeout is None else timeout)
        try:
            yield call
        finally:
            self._leave(call)

    def trip(self, reason: object) -> None:
        """Open the breaker after a call that did not pass here got no answer."""
        with self._change:
            if self._open is None and not self._stopping.is_set():
                self._give_up(str(reason))

    def close(self) -> None:
        """Stop probing."""
        self._stopping.set()

    def _enter(self, timeout: float) -> GuardedCall:
        with self._change:
            until = self._clock() + timeout
            self.check()
            self._refuse_a_crowd()
            while len(self._inside) >= self._concurrency:
                left = until - self._clock()
                if left <= 0 or not self._change.wait(left):
                    raise exception.Away(f"{self.name} is too busy: {len(self._inside)} calls")
                self.check()
            call = GuardedCall(self._clock(), timeout)
            self._inside.add(call)
            if self._open is not None:
                self._open.trial = call
            return call

    def _refuse_a_crowd(self) -> None:
        """Refuse more calls of a silent peer, before the first of them has timed out."""
        if self._open is not None or len(self._inside) < CROWD:
            return
        oldest = min(self._inside, key=lambda call: call.begun)
        silent = self._clock() - max(oldest.begun, self._last_answer)
        if silent > oldest.timeout / 2:
            raise exception.Away(f"{self.name} has not answered any call for {silent:.1f} s")

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
        LOG.warning("%s is unavailable, doing without it: %s", self.name, reason)
        now = self._clock()
        self._open = _Open(now, reason, until=now + self._pause)
        self._change.notify_all()
        if self._probe is not None:
            self._spawn(self._look)

    def _look(self) -> None:
        """Probe until the peer answers: the first time at once, as the failure may be transient."""
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
            LOG.debug("%s is still unavailable: %s", self.name, error.message)
        except Exception:
            LOG.exception("the probe of %s failed", self.name)
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
