"""The gate before the API: how many requests are worked on, how many may wait, and in which order.

Without it a flood is taken in whole: everybody waits ever longer, until clients give up and ask
again. With it a worker has so many places and no more. Who comes when all are taken is told at
once to come back (503), and so is who has more than their share of them (429), before anything of
the request is looked at but whose it is. Those who wait are served in turn by project, one request
of each, so a flood of one keeps others waiting no longer than one request takes.
"""

import collections
import io
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from roost.api import faults
from roost.api.middleware import REQUEST_ID_HEADERS

LOG = logging.getLogger(__name__)
PATIENCE: Final = 30.0  # seconds that a request waits for its turn; clients give up after 60
_UPLOADS_OF: Final = 4  # of so many places there is one more for an upload
TELL_SECONDS: Final = 10.0  # between two lines of the log about requests refused
_REASONS: Final = {
    400: ("Bad Request", "The body broke off, or its chunks are none."),
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


class Turns:
    """Places to work in; those who wait for one get it in turn by caller."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._lock = threading.Lock()
        self._waiting: dict[str, collections.deque[threading.Event]] = {}

    @property
    def waiting(self) -> int:
        """Return how many wait now."""
        with self._lock:
            return sum(len(turns) for turns in self._waiting.values())

    def take(self, caller: str, *, patience: float) -> bool:
        """Wait for a place; False: none within ``patience`` seconds."""
        with self._lock:
            if self._free > 0:  # nobody waits then
                self._free -= 1
                return True
            turn = threading.Event()
            self._waiting.setdefault(caller, collections.deque()).append(turn)
        return turn.wait(patience) or not self._withdraw(caller, turn)

    def give_back(self) -> None:
        """Hand a place to the next one: of the caller who was served longest ago."""
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            caller = next(iter(self._waiting))
            turns = self._waiting.pop(caller)
            turns.popleft().set()
            if turns:
                self._waiting[caller] = turns  # behind all others

    def _withdraw(self, caller: str, turn: threading.Event) -> bool:
        """Wait no longer; False: the place came this moment."""
        with self._lock:
            if turn.is_set():
                return False
            turns = self._waiting[caller]
            turns.remove(turn)
            if not turns:
                del self._waiting[caller]
            return True


class Gate:
    """A WSGI application before another one.

    :param at_once: requests that are worked on
    :param waiting: requests that may wait
    :param share: of these places, how many one caller may have, as a part of 1
    :param max_body: bytes of a body; of a longer one no more than one byte beyond is read
    :param caller: whose request this is, by its environment; must be cheap
    :param is_upload: whether its body is taken as it comes, however long that is; such requests
        have some places of their own, for who sends slowly is to keep nobody from working
    """

    def __init__(
        self,
        app: Wsgi,
        *,
        at_once: int,
        waiting: int,
        share: float,
        max_body: int,
        caller: Callable[[Environ], str],
        is_upload: Callable[[Environ], bool] = lambda _environ: False,
        patience: float = PATIENCE,
    ) -> None:
        self._app = app
        self._turns = Turns(at_once)
        self._uploads = Turns(max(1, at_once // _UPLOADS_OF))
        self._is_upload = is_upload
        self._most = at_once + waiting
        self._most_of_one = max(1, int(self._most * share))
        self._max_body = max_body
        self._caller = caller
        self._patience = patience
        self._lock = threading.Lock()
        self._present: collections.Counter[str] = collections.Counter()
        self._all = 0
        self._refused = _Refused()

    @property
    def present(self) -> int:
        """Return how many requests have a place now, to work or to wait in."""
        return self._all

    @property
    def waiting(self) -> int:
        """Return how many of them wait."""
        return self._turns.waiting + self._uploads.waiting

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        caller = self._caller(environ)
        refusal = self._enter(caller)
        if refusal:
            self._refused.count(refusal)
            return _refuse(refusal, start_response)
        try:
            return self._serve(caller, environ, start_response)
        finally:
            self._leave(caller)

    def _enter(self, caller: str) -> int:
        """Take the caller in; or return the status of a refusal."""
        with self._lock:
            if self._present[caller] >= self._most_of_one:
                return 429
            if self._all >= self._most:
                return 503
            self._present[caller] += 1
            self._all += 1
            return 0

    def _leave(self, caller: str) -> None:
        with self._lock:
            self._all -= 1
            self._present[caller] -= 1
            if not self._present[caller]:
                del self._present[caller]

    def _serve(
        self, caller: str, environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Read the body first: who sends slowly keeps nobody from working."""
        if self._is_upload(environ):
            return self._work(self._uploads, caller, environ, start_response)
        try:
            _read_ahead(environ, self._max_body)
        except (OSError, ValueError, OverflowError):  # servers differ in how they tell bad chunks
            return _refuse(400, start_response)
        return self._work(self._turns, caller, environ, start_response)

    def _work(
        self, turns: Turns, caller: str, environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        with self._place(turns, caller) as placed:
            if placed:
                return self._app(environ, start_response)
        self._refused.count(503)
        return _refuse(503, start_response)

    @contextmanager
    def _place(self, turns: Turns, caller: str) -> Iterator[bool]:
        placed = turns.take(caller, patience=self._patience)
        try:
            yield placed
        finally:
            if placed:
                turns.give_back()


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


def _read_ahead(environ: Environ, max_body: int) -> None:
    """Put what was sent in the place of the stream that it comes through.

    A body that says that it is too long stays where it is: it is refused unread. So does one
    without length where the server does not tell its end.
    """
    said = str(environ.get("CONTENT_LENGTH") or "")
    if said:
        if not said.isdecimal() or not 0 < int(said[:20]) <= max_body:
            return
        length = int(said)
    elif environ.get("wsgi.input_terminated") and "HTTP_TRANSFER_ENCODING" in environ:
        length = max_body + 1
    else:
        return
    body = _read(environ["wsgi.input"], length)
    environ["wsgi.input"] = io.BytesIO(body)
    if not said:
        environ["CONTENT_LENGTH"] = str(len(body))


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


def _refuse(status: int, start_response: Callable[..., Any]) -> Iterable[bytes]:
    phrase, message = _REASONS[status]
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
