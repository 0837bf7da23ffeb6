"""What keeps a host that hangs from holding the threads of a process that asks hosts.

Whoever waits for a host waits for a bounded time, but a project may ask again and again, and a host
that hangs answers nobody. So of those who wait at the same time each project has its share, and
each host; and a host that let somebody wait in vain is not asked for a while.
"""

import collections
import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

import oslo_messaging as messaging

from roost import exception

PAUSE: Final = 5.0  # seconds that a host is not asked which did not answer


@dataclasses.dataclass(frozen=True)
class HostLimits:
    """How many calls to hosts may be under way: altogether, of one project, to one host."""

    all: int = 48
    project: int = 16
    host: int = 16


def _nothing() -> None:
    """Do nothing: who waits has nothing to give back."""


class HostCalls:
    """Counts the calls to hosts that are under way, and remembers hosts that do not answer.

    :param begin: called when a call begins to wait: its thread needs no place to work in from then
    :param clock: seconds, as ``time.monotonic`` has them
    """

    def __init__(
        self,
        limits: HostLimits,
        *,
        begin: Callable[[], None] = _nothing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits
        self._begin = begin
        self._clock = clock
        self._lock = threading.Lock()
        self._of_project: collections.Counter[str] = collections.Counter()
        self._of_host: collections.Counter[str] = collections.Counter()
        self._silent_until: dict[str, float] = {}

    @property
    def under_way(self) -> int:
        """Return how many calls wait now."""
        return self._of_host.total()

    @contextlib.contextmanager
    def passing(self, host: str, project: str | None) -> Iterator[None]:
        """Let one call pass; when its time runs out, the host hangs.

        :raises roost.exception.TooMany: at once, when the project waits for many hosts already
        :raises roost.exception.Away: at once, when the host does not answer, or many wait for it
        """
        self._enter(host, str(project))
        try:
            self._begin()
            yield
        except messaging.MessagingTimeout:
            self._silent_until[host] = self._clock() + PAUSE
            raise
        except Exception:
            self._silent_until.pop(host, None)  # an error is an answer
            raise
        else:
            self._silent_until.pop(host, None)
        finally:
            self._leave(host, str(project))

    def _enter(self, host: str, project: str) -> None:
        with self._lock:
            if self._of_project[project] >= self._limits.project:
                raise exception.TooMany("Too many requests of this project wait for hosts.")
            self._refuse_silent(host)
            if self._of_host[host] >= self._limits.host or self.under_way >= self._limits.all:
                raise exception.Away(f"too many wait for hosts, {self._of_host[host]} for {host}")
            self._of_project[project] += 1
            self._of_host[host] += 1

    def _refuse_silent(self, host: str) -> None:
        """Refuse a host that hangs, but let one call look after a while."""
        until = self._silent_until.get(host)
        if until is None:
            return
        if self._clock() < until:
            raise exception.Away(f"the host {host} did not answer lately")
        self._silent_until[host] = self._clock() + PAUSE

    def _leave(self, host: str, project: str) -> None:
        with self._lock:
            for counter, name in ((self._of_project, project), (self._of_host, host)):
                counter[name] -= 1
                if not counter[name]:
                    del counter[name]
