"""Keeps one service that hangs from holding all threads of a process.

The first request that has waited its timeout out, and for nothing, tells that a service hangs. From
then on requests to it fail at once, for a short pause; then one of them is let through, and what
becomes of it says whether the others may follow. A service that refuses connections, or answers
with errors, costs nobody a thread, so it is asked each time.

Other than the breakers of cells (``roost/cells/breaker.py``), which look by themselves whether
their part is back, these send nothing that nobody asked for: only a user's request knows what to
ask of a service, and with which token.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from keystoneauth1 import session

LOG = logging.getLogger(__name__)
PAUSE: Final = 5.0  # seconds; api/faults.py tells users to come again after as many
CROWD: Final = 4  # as many may wait for a service that has fallen silent, before it is given up


class Hanging(requests.RequestException):
    """Nobody asked the service: it is known to hang.

    keystoneauth tries again after a ``ConnectionError`` or a ``Timeout``, which this is not.
    """


class _Passage:
    """One request, from the moment it was let through."""

    def __init__(self, begun: float, timeout: float) -> None:
        self.begun = begun
        self.timeout = timeout


class Breaker:
    """Whether one service hangs.

    :param name: where it is, for the log
    :param clock: seconds, as ``time.monotonic`` has them
    """

    def __init__(self, name: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        self._inside: set[_Passage] = set()
        self._probe: _Passage | None = None
        self._refuses_until: float | None = None  # None: it does not hang
        self._last_answer = float("-inf")

    @contextlib.contextmanager
    def passing(self, timeout: float | None) -> Iterator[None]:
        """Let one request pass; a :class:`requests.Timeout` of it says that the service hangs.

        :param timeout: seconds that it may wait; None: for ever
        :raises Hanging: at once, when the service hangs; nothing was sent
        """
        passage = self._enter(float("inf") if timeout is None else timeout)
        hangs = False
        try:
            yield
        except requests.Timeout:
            hangs = True
            raise
        finally:
            self._leave(passage, hangs=hangs)

    def _enter(self, timeout: float) -> _Passage:
        with self._lock:
            passage = _Passage(self._clock(), timeout)
            if self._refuses_until is None:
                self._refuse_a_crowd(passage.begun)
            elif self._probe is not None or passage.begun < self._refuses_until:
                raise Hanging(f"{self._name} does not answer")
            else:
                self._probe = passage
            self._inside.add(passage)
            return passage

    def _refuse_a_crowd(self, now: float) -> None:
        """Keep threads out of a service that answers nobody: it may hang, and nobody knows yet."""
        if len(self._inside) < CROWD:
            return
        oldest = min(self._inside, key=lambda passage: passage.begun)
        silent = now - max(oldest.begun, self._last_answer)
        if silent > oldest.timeout / 2:
            raise Hanging(f"{self._name} has not answered anybody for {silent:.1f} s")

    def _leave(self, passage: _Passage, *, hangs: bool) -> None:
        with self._lock:
            self._inside.discard(passage)
            probed = self._probe is passage
            if probed:
                self._probe = None
            if hangs:
                self._open()
                return
            self._last_answer = self._clock()
            if probed:
                LOG.info("%s answers again", self._name)
                self._refuses_until = None

    def _open(self) -> None:
        if self._refuses_until is None:
            LOG.warning("%s hangs, asking nothing of it for %g s", self._name, PAUSE)
        self._refuses_until = self._clock() + PAUSE


class Adapter(session.TCPKeepAliveAdapter):
    """Sends requests past a breaker for each place that they go to, its host and port."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._breakers: dict[str, Breaker] = {}

    def send(self, request: requests.PreparedRequest, *args: Any, **more: Any) -> requests.Response:
        """Do as the base does.

        :raises Hanging: instead of waiting for a place that hangs
        """
        place = urlsplit(request.url or "").netloc
        breaker = self._breakers.setdefault(str(place), Breaker(str(place)))
        with breaker.passing(_longest(more.get("timeout"))):
            answer: requests.Response = super().send(request, *args, **more)
        return answer


def sending(
    adapter: type[session.TCPKeepAliveAdapter], *, connections: int, **tls: Any
) -> requests.Session:
    """Return what keeps so many connections open to each place; many threads share it.

    :param tls: what they are to be encrypted with, as the adapter names it
    """
    made = requests.Session()
    for scheme in ("https://", "http://"):
        made.mount(scheme, adapter(pool_maxsize=connections, **tls))
    return made


def _longest(timeout: Any) -> float | None:
    """Return how long a request waits at one time, of how ``requests`` is told it."""
    waits = timeout if isinstance(timeout, tuple) else (timeout,)
    return None if None in waits else float(max(waits))
