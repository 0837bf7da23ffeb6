"""A cell's bus behind a breaker."""

import contextlib
import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from roost import exception
from roost.cells.breaker import Breaker, Limits
from roost.cells.host_calls import HostCalls
from roost.context import RequestContext
from roost.rpc.transport import BROKEN


class Bus(Protocol):
    """What is needed of a bus; see :class:`roost.rpc.transport.Bus`."""

    def client(self, topic: str, version_cap: str | None = None) -> Any: ...

    def check_replies(self) -> None: ...

    def ping(self, *, seconds: float) -> None: ...

    def close(self) -> None: ...


class GuardedBus:
    """Sends through a bus while its breaker lets messages pass.

    The bus itself sees to it that nobody waits for long until a message is taken.
    """

    def __init__(
        self, name: str, bus: Bus, limits: Limits, host_calls: HostCalls | None = None
    ) -> None:
        self._bus = bus
        self._host_calls = host_calls
        self._seconds = limits.timeout
        self.breaker = Breaker(
            name, functools.partial(bus.ping, seconds=self._seconds), limits=limits
        )

    def client(self, topic: str, version_cap: str | None = None) -> Any:
        return _Client(self._bus.client(topic, version_cap), self)

    def waiting(self, host: str | None, context: RequestContext) -> AbstractContextManager[None]:
        """Return what surrounds a call that waits for a host."""
        if self._host_calls is None or host is None:
            return contextlib.nullcontext()
        return self._host_calls.passing(host, context.project_id)

    def check_replies(self) -> None:
        """Make sure that a call can be made; the broker is asked first.

        :raises roost.exception.Unavailable: when it does not answer, or no answer can reach us
        """
        self.knock()
        self._bus.check_replies()

    def knock(self) -> None:
        """Ask the broker whether it is there.

        :raises roost.exception.Unavailable: when it does not answer; from now on it is away
        """
        with self.breaker.passing() as passage:
            try:
                self._bus.ping(seconds=self._seconds)
            except exception.Unavailable as error:
                passage.blame(error)
                raise

    def cast(self, send: Callable[[], None]) -> None:
        """Hand a message over; what the bus does not take is away from now on.

        :raises roost.exception.Away: at once, when the bus is known to be away
        """
        with self.breaker.passing() as passage:
            try:
                send()
            except exception.Unavailable as error:
                passage.blame(error)
                raise
            except BROKEN as error:  # not that nobody listens there
                passage.blame(exception.Unavailable(str(error)))
                raise

    def close(self) -> None:
        self.breaker.close()
        self._bus.close()


class _Client:
    """Stands for the bus's client; before a call, ``check_replies`` is asked."""

    def __init__(self, client: Any, bus: GuardedBus, server: str | None = None) -> None:
        self._client = client
        self._bus = bus
        self._server = server

    def prepare(self, **options: Any) -> "_Client":
        return _Client(self._client.prepare(**options), self._bus, options.get("server"))

    def call(self, context: RequestContext, method: str, **arguments: Any) -> Any:
        with self._bus.waiting(self._server, context):
            return self._client.call(context, method, **arguments)

    def cast(self, *message: Any, **arguments: Any) -> None:
        self._bus.cast(lambda: self._client.cast(*message, **arguments))
