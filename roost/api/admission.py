"""Admission control of the API: how many requests a worker takes, and in which order.

Without it a worker takes in a whole flood: every request waits ever longer, until clients give up
and ask again. With it a worker has a fixed number of places. A request that finds all of them taken
is refused at once with 503; one whose caller has its share of them already, with 429. Nothing of
the request is looked at before that but whose it is (``callers.py``). Requests that wait are served
in turn by caller, one request of each, so a flood of one caller keeps others waiting no longer than
one request takes.

A request has no place before its body has come, and long answers have places of their own until
they are sent: a slow connection keeps nobody else from working.

``roost-api`` and ``roost-metadata`` put :class:`Admission` around their WSGI applications.
"""

import collections
import contextvars
import functools
import io
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from roost.api import faults
from roost.api.callers import ApiCaller, ConcurrencyLimit, FairShare
from roost.api.middleware import REQUEST_ID_HEADERS

LOG = logging.getLogger(__name__)
PATIENCE: Final = 30.0  # seconds that a request waits for its turn; clients give up after 60
BODY_SECONDS: Final = 30.0  # that a whole body may take to come
_ALL: Final = FairShare(proven=1.0, unproven=1.0)
_UPLOADS_OF: Final = 4  # of so many places there is one more for an upload
_SENDING_OF: Final = 4  # long answers that are sent at once, for each place to work in
_SHORT: Final = 65536  # bytes of an answer that are not worth counting
PIECE: Final = 32768  # bytes of a long answer that are handed to the server at once
_DIGITS: Final = 20  # of a length; a longer one is none
_REFUSERS: Final = 8  # threads beyond those that work and wait: they tell others to come later
TELL_SECONDS: Final = 10.0  # between two lines of the log about requests refused
_REASONS: Final = {
    400: ("Bad Request", "The body broke off, or its chunks are none."),
    408: (
        "Request Timeout",
        f"The body did not come within {BODY_SECONDS:.0f} seconds. Please send it faster.",
    ),
    429: (
        "Too Many Requests",
        "Too many requests of this project or address are under way. Please try again later.",
    ),
    503: (
        "Service Unavailable",
        "There is more to do than this API can take on now. Please try again later.",
    ),
}
Environ = dict[str, Any]
Wsgi = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


def threads(at_once: int, waiting: int) -> int:
    """Return how many threads a server needs so that a gate can do what it promises."""
    return at_once + waiting + at_once * _SENDING_OF + _REFUSERS


_TURN: contextvars.ContextVar[Callable[[], None] | None] = contextvars.ContextVar(
    "_TURN", default=None
)


def leave_turn() -> None:
    """Give the place to work in to the next one: this request does little from now on but wait.

    It keeps its place among those who are present.
    """
    leave = _TURN.get()
    if leave is not None:
        _TURN.set(None)
        leave()


class FairQueue:
    """Places to work in; those who wait for one get it in turn by caller.

    :param share: of the places, what one caller may have; beyond it, it waits while places are free
    """

    def __init__(self, places: int, share: FairShare = _ALL) -> None:
        self._places = ConcurrencyLimit(places, share)
        self._lock = threading.Lock()
        self._waiting: dict[ApiCaller, collections.deque[threading.Event]] = {}

    @property
    def waiting(self) -> int:
        """Return how many wait now."""
        with self._lock:
            return sum(len(turns) for turns in self._waiting.values())

    def take(self, caller: ApiCaller, *, patience: float) -> bool:
        """Wait for a place; False: none within ``patience`` seconds."""
        with self._lock:
            if caller not in self._waiting and not self._places.take(caller):
                return True
            turn = threading.Event()
            self._waiting.setdefault(caller, collections.deque()).append(turn)
        return turn.wait(patience) or not self._withdraw(caller, turn)

    def give_back(self, caller: ApiCaller) -> None:
        """Hand a place to the next one: of the caller who was served longest ago.

        It may be the turn of several: whoever gives back has less of its share, too.
        """
        with self._lock:
            self._places.give_back(caller)
            while called := [one for one in self._waiting if not self._places.take(one)]:
                for following in called:
                    self._call(following)

    def _call(self, caller: ApiCaller) -> None:
        turns = self._waiting.pop(caller)
        turns.popleft().set()
        if turns:
            self._waiting[caller] = turns  # behind all others

    def _withdraw(self, caller: ApiCaller, turn: threading.Event) -> bool:
        """Wait no longer; False: the place came this moment."""
        with self._lock:
            if turn.is_set():
                return False
            turns = self._waiting[caller]
            turns.remove(turn)
            if not turns:
                del self._waiting[caller]
            return True


class Admission:
    """A WSGI application before another one.

    :param at_once: requests that are worked on
    :param waiting: requests that may wait
    :param share: of these places, and of those for uploads and long answers, what one caller may
        have
    :param max_body: bytes of a body; of a longer one no more than one byte beyond is read
    :param caller: whose request this is, by its environment; must be cheap. None: one that costs
        nothing, since it is refused for want of a token: it takes no place
    :param is_upload: whether its body is taken as it comes, however long that is; such requests
        have some places of their own, for who sends slowly is to keep nobody from working
    """

    def __init__(
        self,
        app: Wsgi,
        *,
        at_once: int,
        waiting: int,
        share: FairShare,
        max_body: int,
        caller: Callable[[Environ], ApiCaller | None],
        is_upload: Callable[[Environ], bool] = lambda _environ: False,
        patience: float = PATIENCE,
    ) -> None:
        self._app = app
        self._turns = FairQueue(at_once)
        # who is let in has a token, of which this worker may not have heard yet
        self._uploads = FairQueue(
            max(1, at_once // _UPLOADS_OF), FairShare(share.proven, share.proven)
        )
        self._is_upload = is_upload
        self._places = ConcurrencyLimit(at_once + waiting, share)
        self._sending = ConcurrencyLimit(at_once * _SENDING_OF, share)
        self._max_body = max_body
        self._caller = caller
        self._patience = patience
        self._refused = _Refused()

    @property
    def present(self) -> int:
        """Return how many requests have a place now, to work or to wait in."""
        return self._places.taken

    @property
    def waiting(self) -> int:
        """Return how many of them wait."""
        return self._turns.waiting + self._uploads.waiting

    @property
    def sending(self) -> int:
        """Return how many long answers are on their way."""
        return self._sending.taken

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        caller = self._caller(environ)
        if caller is None:
            return self._app(environ, start_response)
        turns = self._uploads if self._is_upload(environ) else self._turns
        if turns is self._turns and not is_read(environ, self._max_body):
            return refused(400)(environ, start_response)
        refusal = self._places.take(caller)
        if refusal:
            return self._refuse(refusal, environ, start_response)
        try:
            return self._work(turns, caller, environ, start_response)
        finally:
            self._places.give_back(caller)

    def _work(
        self,
        turns: FairQueue,
        caller: ApiCaller,
        environ: Environ,
        start_response: Callable[..., Any],
    ) -> Iterable[bytes]:
        with self._place(turns, caller) as placed:
            if not placed:
                return self._refuse(503, environ, start_response)
            told: list[Any] = []
            pieces = self._app(environ, lambda *status_and_headers: told.extend(status_and_headers))
        return self._hand_out(pieces, caller, environ, start_response, told)

    def _hand_out(
        self,
        pieces: Iterable[bytes],
        caller: ApiCaller,
        environ: Environ,
        start_response: Callable[..., Any],
        told: list[Any],
    ) -> Iterable[bytes]:
        """Return the answer; a long one has a place until it is closed, or is refused.

        What has changed something is never refused afterwards.
        """
        if not _is_long(pieces):
            start_response(*told)
            return pieces
        refusal = self._sending.take(caller)
        if refusal and environ.get("REQUEST_METHOD") == "GET":
            close(pieces)
            return self._refuse(refusal, environ, start_response)
        start_response(*told)
        return pieces if refusal else _Sent(pieces, lambda: self._sending.give_back(caller))

    def _refuse(
        self, status: int, environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        self._refused.count(status)
        return refused(status)(environ, start_response)

    @contextmanager
    def _place(self, turns: FairQueue, caller: ApiCaller) -> Iterator[bool]:
        placed = turns.take(caller, patience=self._patience)
        token = _TURN.set(functools.partial(turns.give_back, caller) if placed else None)
        try:
            yield placed
        finally:
            leave_turn()
            _TURN.reset(token)


class _Refused:
    """Tells the log of refusals, not more often than it can bear."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: collections.Counter[int] = collections.Counter()
        self._told = -TELL_SECONDS

    def count(self, status: int) -> None:
        with self._lock:
            self._counts[status] += 1
            now = time.monotonic()
            if now - self._told < TELL_SECONDS:
                return
            self._told, counts = now, dict(self._counts)
            self._counts.clear()
        told = ", ".join(f"{number} with {code}" for code, number in sorted(counts.items()))
        LOG.warning("more requests than there are places for; refused lately: %s", told)


class _Sent:
    """A long answer in short pieces; ``done`` is called once, when it is sent or given up."""

    def __init__(self, pieces: Iterable[bytes], done: Callable[[], None]) -> None:
        self._pieces = pieces
        self._done: Callable[[], None] | None = done

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            for begin in range(0, len(piece), PIECE):
                yield piece[begin : begin + PIECE]

    def close(self) -> None:
        if self._done is None:
            return
        done, self._done = self._done, None
        try:
            close(self._pieces)
        finally:
            done()


def _is_long(pieces: Iterable[bytes]) -> bool:
    """Tell whether an answer is to be counted: nobody knows how long one is that is no list."""
    return not isinstance(pieces, list | tuple) or sum(map(len, pieces)) > _SHORT


def close(pieces: Any) -> None:
    """Let an answer know that nobody takes more of it."""
    close = getattr(pieces, "close", None)
    if close is not None:
        close()


def is_read(environ: Environ, max_body: int) -> bool:
    """Read a body into memory, unless it is too long; False: it broke off."""
    try:
        _read_ahead(environ, max_body)
    except (OSError, ValueError, OverflowError):  # servers differ in how they tell bad chunks
        return False
    return True


def expected(environ: Environ, max_body: int) -> int:
    """Return how many bytes of a body are read ahead, at most.

    A body that says that it is too long stays where it is: it is refused unread. So does one
    without length where the server does not tell its end.
    """
    said = str(environ.get("CONTENT_LENGTH") or "")
    if said:
        length = int(said) if said.isdecimal() and len(said) < _DIGITS else 0
        return length if length <= max_body else 0
    ends = environ.get("wsgi.input_terminated") and "HTTP_TRANSFER_ENCODING" in environ
    return max_body + 1 if ends else 0


def _read_ahead(environ: Environ, max_body: int) -> None:
    """Put what was sent in the place of the stream that it comes through."""
    length = expected(environ, max_body)
    if not length:
        return
    body = _read(environ["wsgi.input"], length)
    if len(body) > max_body:
        environ["wsgi.input"] = io.BufferedReader(_Longer(body, environ["wsgi.input"]))
        return
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = environ.get("CONTENT_LENGTH") or str(len(body))


class _Longer(io.RawIOBase):
    """A body of which only the beginning was read."""

    def __init__(self, begin: bytes, rest: Any) -> None:
        super().__init__()
        self._begin = io.BytesIO(begin)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._begin.read(len(buffer)) or self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _read(stream: Any, length: int) -> bytes:
    """Read so many bytes, or all that there are: a stream may give them piece by piece."""
    pieces = []
    while length > 0:
        piece = stream.read(length)
        if not piece:
            break
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def refused(status: int) -> Wsgi:
    """Return an application that refuses everything, as :mod:`roost.api.faults` would."""
    phrase, message = _REASONS[status]

    def refuse(_environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        data = faults.as_bytes(status, message)
        name = f"req-{uuid.uuid4()}"
        headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(data))),
            *((header, name) for header in REQUEST_ID_HEADERS),
        ]
        if status in faults.WAITING:
            headers.append(("Retry-After", str(faults.WAITING[status])))
        start_response(f"{status} {phrase}", headers)
        return [data]

    return refuse
