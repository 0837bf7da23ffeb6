"""Limits of concurrent calls to hosts: a hanging host must not block all threads of a process.

Each call waits a bounded time, but a project may repeat calls to a host that never answers. So
there is a limit of concurrent calls for each project and each host; further calls queue. After a
timeout, a host gets no calls for a while.
"""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Final

import oslo_messaging as messaging

from roost import exception
from roost.circuit_breaker import CircuitBreaker, GuardedCall
from roost.concurrency_limit import ConcurrencyLimit, Refused


@dataclasses.dataclass(frozen=True)
class HostLimits:
    """Numbers of concurrent calls to hosts: in all, per project, per host."""

    all: int = 48
    project: int = 16
    host: int = 16


PATIENCE: Final = 30.0  # seconds in the queue; clients give up after 60


def _nothing() -> None:
    """Do nothing: the caller has no slot to release."""


class HostCalls:
    """Counts the concurrent calls to hosts, and remembers hosts that do not answer.

    :param begin: called when a call begins to wait: its thread then releases its admission slot
    :param patience: seconds that a call may queue
    :param clock: monotonic seconds
    """

    def __init__(
        self,
        limits: HostLimits,
        *,
        begin: Callable[[], None] = _nothing,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._begin = begin
        self._patience = patience
        self._clock = clock
        self._of_project = ConcurrencyLimit[str](limits.all, lambda _left, _project: limits.project)
        self._of_host = ConcurrencyLimit[str](limits.all, lambda _left, _host: limits.host)
        self._breakers: dict[str, CircuitBreaker] = {}

    @property
    def under_way(self) -> int:
        """The number of calls that wait for hosts now."""
        return self._of_host.taken

    @contextlib.contextmanager
    def passing(self, host: str, project: str | None) -> Iterator[None]:
        """Admit one call, after queueing. An error is an answer; only after a timeout a host hangs.

        :raises roost.exception.TooMany: when the project's calls fill its share for too long
        :raises roost.exception.Silent: when the host does not answer
        :raises roost.exception.Away: when other calls fill the host's share, or all, for too long
        """
        breaker = self._breakers.setdefault(
            host, CircuitBreaker(f"the host {host}", clock=self._clock)
        )
        self._begin()
        with self._places(host, str(project)), _asking(breaker) as call:
            try:
                yield
            except messaging.MessagingTimeout:
                call.blame("a call timed out")
                raise

    @contextlib.contextmanager
    def _places(self, host: str, project: str) -> Iterator[None]:
        until = self._clock() + self._patience
        refused = self._of_project.take(project, within=self._patience)
        if refused is Refused.SHARE:
            raise exception.TooMany("Too many requests of this project wait for hosts.")
        if refused:
            raise exception.Away("too many calls wait for hosts")
        try:
            if self._of_host.take(host, within=until - self._clock()):
                raise exception.Away(f"too many calls wait for hosts, or for {host}")
            try:
                yield
            finally:
                self._of_host.give_back(host)
        finally:
            self._of_project.give_back(project)


@contextlib.contextmanager
def _asking(breaker: CircuitBreaker) -> Iterator[GuardedCall]:
    with contextlib.ExitStack() as inside:
        try:
            call = inside.enter_context(breaker.passing())
        except exception.Away as error:
            raise exception.Silent(error.message) from error
        yield call
