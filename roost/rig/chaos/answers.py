"""What the clients of a storm were told, and how often; every odd answer is kept."""

import collections
import contextlib
import dataclasses
import threading
import time
from collections.abc import Iterator
from typing import Final

from roost import exception

SILENT: Final = "no answer"
LATE: Final = "late"
_LATER: Final = (429, 503)  # answers that say: not now, come again
_OURS: Final = 500  # from here on it is not the client's fault


@dataclasses.dataclass(frozen=True)
class FailedRequest:
    """A request that was not done. Times are those of ``time.monotonic``, in seconds.

    :param what: method and noun
    :param outcome: a status, or that there was none
    :param clean: whether the answer told a client what to do
    """

    what: str
    outcome: str
    clean: bool
    began: float
    ended: float
    message: str


class Answers:
    """Counts answers and keeps failures; used by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.counts: collections.Counter[tuple[str, str]] = collections.Counter()
        self.failures: list[FailedRequest] = []
        self.seconds: list[float] = []

    @contextlib.contextmanager
    def noted(self, what: str) -> Iterator[None]:
        """Note how the request within the block ends; what it raises goes on."""
        began = time.monotonic()
        try:
            yield
        except exception.NotFound:
            self._note(what, "404")
            raise
        except exception.Conflict as error:
            self._fail(_refusal(what, error, began))
            raise
        except exception.Unavailable as error:
            outcome = LATE if error.details.get("late") else SILENT
            self._fail(FailedRequest(what, outcome, True, began, time.monotonic(), error.message))
            raise
        self._note(what, "done", seconds=time.monotonic() - began)

    def _note(self, what: str, outcome: str, *, seconds: float | None = None) -> None:
        with self._lock:
            self.counts[what, outcome] += 1
            if seconds is not None:
                self.seconds.append(seconds)

    def _fail(self, failure: FailedRequest) -> None:
        self._note(failure.what, failure.outcome)
        with self._lock:
            self.failures.append(failure)


def _refusal(what: str, error: exception.Conflict, began: float) -> FailedRequest:
    status = error.details.get("status", 0)
    clean = status < _OURS if status not in _LATER else bool(error.details.get("retry_after"))
    return FailedRequest(what, str(status), clean, began, time.monotonic(), error.message)
