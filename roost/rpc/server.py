"""An RPC server that loses nothing when it stops."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from oslo_messaging.rpc.server import RPCServer

from roost import concurrency, exception
from roost.callers import BUS_USER
from roost.context import RequestContext
from roost.rpc import oslo_driver
from roost.rpc.consumer_check import ConsumerCheck

LOG = logging.getLogger(__name__)
REPORT_SECONDS: Final = 10.0  # between two lines of the log about refused messages
ROOM: Final = 4096  # messages that wait in one process; of 4 KB or so each


class Served(RPCServer):  # type: ignore[misc] # oslo.messaging has no types
    """An oslo.messaging server that notes the arrival of each message, before it is processed.

    It queues no more than ``room`` messages: oslo.messaging acknowledges each on receipt and would
    queue any number. When the queue is full, a call fails at once and a cast is dropped, like one
    that the broker lost: the sweepers find its task by the rows.
    """

    consumer_state: ConsumerCheck
    room: threading.BoundedSemaphore
    _reported_at = float("-inf")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._executor_cls = concurrency.executor  # its idle threads cost nothing

    def _on_incoming(self, incoming: Any) -> None:
        self.consumer_state.note()
        RequestContext.stamp(incoming[0].ctxt)
        incoming[0].ctxt[BUS_USER] = oslo_driver.sender_of(incoming[0])
        if self.room.acquire(blocking=False):
            super()._on_incoming(incoming)
        else:
            self._refuse(incoming[0])

    def _process_incoming(self, incoming: Any) -> None:
        self.room.release()
        super()._process_incoming(incoming)

    def _refuse(self, message: Any) -> None:
        if time.monotonic() - self._reported_at > REPORT_SECONDS:
            self._reported_at = time.monotonic()
            LOG.warning("%s: messages are refused, too many wait", self._target.topic)
        error = exception.Unavailable("too many messages wait here; try again later")
        try:
            message.reply(failure=(type(error), error, None))
        except Exception as lost:  # noqa: BLE001 - the caller's timeout will end its call
            LOG.warning("%s: could not notify a refused caller: %s", self._target.topic, lost)


class InterfaceServer:
    """One served interface; started once, stopped once. It checks that it receives messages.

    :param server: the oslo.messaging server to run
    :param name: those of the interface and its bus, for the log
    :param echo: sends a message to the server
    :param interval: seconds between two echoes
    :param can_break: whether its connection can break and be reopened
    """

    def __init__(
        self,
        server: Served,
        *,
        name: str,
        echo: Callable[[], object],
        interval: float,
        can_break: bool,
    ) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._stopped = False
        repair = self._reopen if can_break else None
        self.consumer_state = ConsumerCheck(name, echo, repair=repair, interval=interval)
        self._server.consumer_state = self.consumer_state
        self._server.room = threading.BoundedSemaphore(ROOM)

    def start(self, threads: int | None = None) -> None:
        """Listen; ``threads`` messages are processed at once."""
        self._stopped = False
        self._server.start(override_pool_size=threads)
        self.consumer_state.start()

    def stop(self) -> None:
        """Accept no more messages. Those that the broker has delivered already are processed."""
        self.consumer_state.stop()
        with self._lock:
            self._stopped = True
        self._server.stop()
        with contextlib.suppress(Exception):  # an unavailable broker delivers nothing
            _take_rest(self._server, self._server.listener)

    def _reopen(self) -> None:
        """Listen on a new connection. Messages received before are still processed."""
        new = oslo_driver.open_listener(self._server)
        with self._lock:
            if not self._stopped:
                old, self._server.listener = self._server.listener, new
                new.start(self._server._on_incoming)  # noqa: SLF001 - as oslo.messaging starts it
                new = old
        oslo_driver.in_background(lambda: self._end(new))

    def _end(self, listener: Any) -> None:
        """Close a listener, however long its broken connection takes."""
        listener.stop()
        try:
            _take_rest(self._server, listener)
        finally:
            listener.cleanup()

    def wait(self) -> None:
        """Return when all messages taken are answered."""
        self._server.wait()


def _take_rest(server: Any, adapter: Any) -> None:
    """Cancel the subscription, then process what the broker had delivered before.

    oslo.messaging 18.3 ends only its own polling: the broker goes on delivering messages until the
    connection is closed, and those are acknowledged while it closes, and dropped.
    """
    listener: Any = getattr(adapter, "_poll_style_listener", None)
    connection = getattr(getattr(listener, "conn", None), "connection", None)
    if connection is None:
        return  # the in-process bus has no connection
    for consumer, tag in connection._consumers.items():  # noqa: SLF001 - see above
        consumer.cancel(tag)
    while listener.incoming:
        server._on_incoming([listener.incoming.pop(0)])  # noqa: SLF001
