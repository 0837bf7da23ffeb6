"""Checks that a daemon still receives messages, by sending it some through the broker.

A connection may be dead, a queue deleted or a consumer forgotten, and the client is not notified:
it would wait for ever. So a consumer sends messages to itself, and reopens its connection and queue
when they do not arrive.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import oslo_messaging as messaging

from roost import exception

LOG = logging.getLogger(__name__)
NAMESPACE: Final = "consumer_check"
VERSION: Final = "1.0"
TIMEOUT: Final = 3  # seconds that a message to itself may take
INTERVAL: Final = 5.0  # seconds between two messages to itself
AGAIN: Final = 1.0  # seconds from a lost message to the next one
PERSEVERE: Final = 60.0  # seconds without messages after which operators are notified


class SelfPing:
    """Endpoint beside every interface, which receives the server's messages to itself."""

    target = messaging.Target(namespace=NAMESPACE, version=VERSION)

    @messaging.expose  # type: ignore[untyped-decorator] # oslo.messaging has no types
    def echo(self, context: Any) -> None:
        """Do nothing: the server notes the arrival."""


class ConsumerLost(exception.Unavailable):
    """The broker accepted a message, or could have, and will not deliver it."""


class ConsumerCheck:
    """Checks the consumer of one server's queues, or of a reply queue.

    :param name: name of the consumer, for the log
    :param send: sends a message to it; raises :class:`ConsumerLost` when the message cannot
        arrive, another Unavailable when the broker does not accept it
    :param repair: reopens the consumer, however long that takes; None: it cannot break
    :param interval: seconds between two messages
    :param clock: monotonic seconds
    """

    def __init__(
        self,
        name: str,
        send: Callable[[], object],
        *,
        repair: Callable[[], object] | None = None,
        interval: float = INTERVAL,
        timeout: float = TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._send = send
        self._repair = repair
        self._interval = interval
        self._timeout = timeout
        self._clock = clock
        self._came = threading.Event()
        self._stopping = threading.Event()
        self._wake = threading.Event()  # ends the pause between two messages
        self._doubted = False
        self._received_at: float | None = None
        self._lost_since: float | None = None
        self._missed = 0
        self._reported = False

    @property
    def lost_since(self) -> float | None:
        """When the first lost message was sent; None: all arrived."""
        return self._lost_since

    def note(self) -> None:
        """Note that a message arrived. Any thread may call it."""
        self._received_at = self._clock()
        self._came.set()

    def received_within(self, seconds: float) -> bool:
        """Return whether a message arrived within the last so many seconds."""
        return self._received_at is not None and self._clock() - self._received_at <= seconds

    def call(self) -> None:
        """Send a message to the consumer.

        :raises roost.exception.Unavailable: when the bus did not accept it
        """
        self._send()

    def doubt(self) -> None:
        """Check at once, and reopen the consumer after a single lost message.

        For callers that found the bus unavailable: connections of that time may be dead.
        """
        self._doubted = True
        self._wake.set()

    def start(self) -> None:
        """Check repeatedly, in a thread, until :meth:`stop`."""
        self._stopping.clear()
        threading.Thread(target=self.run, daemon=True, name="roost-consumer").start()

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()

    def run(self) -> None:
        """Check repeatedly until :meth:`stop`."""
        while not self._stopping.is_set():
            try:
                arrived = self.check()
            except Exception:
                if self._stopping.is_set():
                    return  # the bus is being closed
                LOG.exception("%s: the check whether it receives messages failed", self._name)
                arrived = True
            self._wake.wait(self._interval if arrived else AGAIN)
            if not self._stopping.is_set():
                self._wake.clear()

    def check(self) -> bool:
        """Send the consumer one message, and reopen it when two in a row are lost.

        :returns: whether the message arrived
        """
        began = self._clock()
        self._came.clear()
        try:
            self._send()
        except ConsumerLost as error:
            return self._miss(began, error.message)
        except exception.Unavailable as error:
            LOG.debug("%s: the bus is unavailable: %s", self._name, error.message)
            return False
        if not self._came.wait(self._timeout):
            return self._miss(began, f"no message arrived in {self._timeout} s")
        self._recover()
        return True

    def _recover(self) -> None:
        if self._lost_since is not None:
            lost = self._clock() - self._lost_since
            LOG.warning("%s receives messages again, after %.1f s", self._name, lost)
        self._lost_since, self._missed, self._reported = None, 0, False
        self._doubted = False

    def _miss(self, began: float, why: str) -> bool:
        if self._lost_since is None:
            self._lost_since = began
        self._missed += 1
        LOG.warning("%s receives no messages: %s", self._name, why)
        if not self._reported and self._clock() - self._lost_since > PERSEVERE:
            LOG.critical("%s gets no messages: restart this daemon, check its broker", self._name)
            self._reported = True
        if self._missed % 2 == 0 or self._doubted:
            self._reopen()
        return False

    def _reopen(self) -> None:
        self._doubted = False
        if self._repair is not None and not self._stopping.is_set():
            LOG.warning("%s is reopened", self._name)
            self._repair()
