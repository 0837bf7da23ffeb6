"""Admission control of the API: how many requests a worker takes, and in which order.

Without it a worker accepts a whole flood: every request waits longer and longer, until clients time
out and retry. With it a worker has a fixed number of slots. A request that finds no free slot is
refused at once with 503; a request of a project that has used its share of slots, with 429. A
project has no more than its share of the threads, either, so a flood of one does not delay the
requests of others.

A request with an unknown token is queued twice: first to identify its project, which bounds the
number of simultaneous requests to Keystone, then to be served. Client addresses do not count:
behind a proxy all requests have the same one. Slow connections are left to the proxy, too.

``roost-api`` and ``roost-metadata`` put :class:`Admission` around their WSGI applications.
"""

import collections
import contextlib
import contextvars
import logging
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from roost.api import faults
from roost.api.middleware import REQUEST_ID_HEADERS

LOG = logging.getLogger(__name__)
PATIENCE: Final = 30.0  # seconds that a request may queue; clients time out after 60
UNKNOWN: Final = "unknown"  # the caller of all requests with a token not seen before
UNKNOWN_SHARE: Final = 0.8  # of the slots; the others are reserved for known callers
_REFUSERS: Final = 8  # threads beyond those that work and wait: they answer 429 and 503
_LOG_SECONDS: Final = 10.0  # between two log lines about refused requests
_REASONS: Final = {
    429: (
        "Too Many Requests",
        "Too many requests of this project are under way. Please try again later.",
    ),
    503: (
        "Service Unavailable",
        "There is more to do than this API can take on now. Please try again later.",
    ),
}
Environ = dict[str, Any]
Wsgi = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


def threads(at_once: int, waiting: int) -> int:
    """Return how many threads a server needs to serve, queue and refuse requests."""
    return at_once + waiting + _REFUSERS


_TURN = contextvars.ContextVar[Callable[[], None]]("_TURN", default=lambda: None)


def leave_turn() -> None:
    """Let the next request start: from now on this one mostly waits for a host.

    It keeps its slot.
    """
    _TURN.get()()  # again: without effect


class CallerLookup(Protocol):
    """Identifies the caller of a request; ``middleware.Authentication`` is one."""

    def caller(self, environ: Mapping[str, Any]) -> str | None:
        """Return the caller whose share of the slots a request uses, without any I/O.

        None: it needs no slot, as its answer costs nothing. :data:`UNKNOWN`: :meth:`identify`
        must identify the caller.
        """

    def identify(self, environ: Environ) -> str | None:
        """Identify the caller of a request; None: it will be refused, at no cost."""


class _Refused(Exception):
    """There is no slot for a request, or no turn in time."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _Slots:
    """Slots for ``most`` requests; a caller has a share of those that others do not use."""

    def __init__(self, most: int, share: float) -> None:
        self._most = most
        self._share = share
        self._lock = threading.Lock()
        self._of: collections.Counter[str] = collections.Counter()

    @property
    def taken(self) -> int:
        return self._of.total()

    @contextlib.contextmanager
    def slot(self, caller: str) -> Iterator[None]:
        """Take a slot for the block.

        :raises _Refused: when there is none
        """
        with self._lock:
            taken, own = self.taken, self._of[caller]
            if own >= _share(self._share, self._most - (taken - own), caller):
                raise _Refused(503 if caller == UNKNOWN else 429)
            if taken >= self._most:
                raise _Refused(503)
            self._of[caller] += 1
        try:
            yield
        finally:
            with self._lock:
                self._of[caller] -= 1
                if not self._of[caller]:
                    del self._of[caller]


class _Turns:
    """Lets ``at_once`` requests run at a time, and ``most`` of one caller; others wait."""

    def __init__(self, at_once: int, most: int) -> None:
        self._all = threading.Semaphore(at_once)
        self._most = most
        self._of_callers = weakref.WeakValueDictionary[str, threading.Semaphore]()
        self._making = threading.Lock()

    @contextlib.contextmanager
    def turn(self, caller: str, *, patience: float) -> Iterator[None]:
        """Wait for a turn, which the block may end early by :func:`leave_turn`.

        :raises _Refused: when there is none within ``patience`` seconds
        """
        until = time.monotonic() + patience
        with self._making:  # else two first requests of a caller would have one each
            own = self._of_callers.setdefault(caller, threading.Semaphore(self._most))
        with contextlib.ExitStack() as turn:
            for semaphore in (own, self._all):
                if not semaphore.acquire(timeout=max(0.0, until - time.monotonic())):
                    raise _Refused(503)
                turn.callback(semaphore.release)
            token = _TURN.set(turn.close)
            try:
                yield
            finally:
                _TURN.reset(token)


class Admission:
    """WSGI middleware that limits and queues requests.

    :param at_once: requests served at a time, and unknown tokens checked at a time
    :param waiting: requests that may wait
    :param share: the part of the slots not used by others that one caller may have: where one
        project has half of all, a second gets a quarter, and a few never have all; and its part of
        the threads
    :param callers: identifies the callers of requests
    """

    def __init__(
        self,
        app: Wsgi,
        *,
        at_once: int,
        waiting: int,
        share: float,
        callers: CallerLookup,
        patience: float = PATIENCE,
    ) -> None:
        self._app = app
        self._turns = _Turns(at_once, _share(share, at_once))
        self._questions = _Turns(at_once, at_once)
        self._slots = _Slots(at_once + waiting, share)
        self._callers = callers
        self._patience = patience
        self._refusals = _RefusalLog()

    @property
    def present(self) -> int:
        """Return how many requests have a slot now, served or waiting."""
        return self._slots.taken

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        try:
            caller = self._callers.caller(environ)
            if caller == UNKNOWN:
                with (
                    self._slots.slot(UNKNOWN),
                    self._questions.turn(UNKNOWN, patience=self._patience),
                ):
                    caller = self._callers.identify(environ)
            if caller is None:
                return self._app(environ, start_response)
            return self._serve(caller, environ, start_response)
        except _Refused as refused:
            self._refusals.count(refused.status)
            return _refusal(refused.status, start_response)

    def _serve(
        self, caller: str, environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Return the answer; a streamed one keeps its slot until it is closed."""
        with contextlib.ExitStack() as place:
            place.enter_context(self._slots.slot(caller))
            with self._turns.turn(caller, patience=self._patience):
                pieces = self._app(environ, start_response)
            if isinstance(pieces, list):
                return pieces
            return _Sent(pieces, place.pop_all())


def _share(share: float, left: int, caller: str = "") -> int:
    """Return how many of the slots not used by others a caller may have."""
    return max(1, int(left * (UNKNOWN_SHARE if caller == UNKNOWN else share)))


class _Sent:
    """A streamed answer; its slot is released once, at its end."""

    def __init__(self, pieces: Iterable[bytes], place: contextlib.ExitStack) -> None:
        self._pieces = pieces
        self._place = place

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._pieces)

    def close(self) -> None:
        with self._place:
            close = getattr(self._pieces, "close", None)
            if close is not None:
                close()


class _RefusalLog:
    """Logs refusals, at most once in ``_LOG_SECONDS``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: collections.Counter[int] = collections.Counter()
        self._written = -_LOG_SECONDS

    def count(self, status: int) -> None:
        with self._lock:
            self._counts[status] += 1
            now = time.monotonic()
            if now - self._written < _LOG_SECONDS:
                return
            self._written, counts = now, dict(self._counts)
            self._counts.clear()
        listed = ", ".join(f"{number} with {code}" for code, number in sorted(counts.items()))
        LOG.warning("more requests than slots; refused lately: %s", listed)


def _refusal(status: int, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Refuse a request as :mod:`roost.api.faults` would."""
    phrase, message = _REASONS[status]
    data = faults.as_bytes(status, message)
    request_id = f"req-{uuid.uuid4()}"
    headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(data))),
        ("Retry-After", str(faults.WAITING[status])),
        *((header, request_id) for header in REQUEST_ID_HEADERS),
    ]
    start_response(f"{status} {phrase}", headers)
    return [data]
