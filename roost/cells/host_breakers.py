"""Circuit breakers of hosts: a host that does not answer must not block threads again and again."""

import contextlib
import time
from collections.abc import Callable, Iterator

import oslo_messaging as messaging

from roost import exception
from roost.circuit_breaker import CircuitBreaker


def _nothing() -> None:
    """Do nothing: the caller has no turn to give up."""


class HostBreakers:
    """Guards the calls that wait for hosts: after a timeout, a host gets no calls for a while.

    :param begin: called when a call begins to wait: its request then gives up its turn in the API
    :param clock: monotonic seconds
    """

    def __init__(
        self,
        *,
        begin: Callable[[], None] = _nothing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._begin = begin
        self._clock = clock
        self._breakers: dict[str, CircuitBreaker] = {}

    @contextlib.contextmanager
    def passing(self, host: str) -> Iterator[None]:
        """Let one call pass. An error is an answer; only after a timeout a host hangs.

        :raises roost.exception.Silent: at once, while the host is known not to answer
        """
        breaker = self._breakers.setdefault(
            host, CircuitBreaker(f"the host {host}", clock=self._clock)
        )
        self._begin()
        with contextlib.ExitStack() as inside:
            try:
                call = inside.enter_context(breaker.passing())
            except exception.Away as error:
                raise exception.Silent(error.message) from error
            try:
                yield
            except messaging.MessagingTimeout:
                call.blame("a call timed out")
                raise
