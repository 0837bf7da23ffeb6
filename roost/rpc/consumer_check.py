"""Whether a daemon still gets messages: found out by sending it some through the broker, for ever.

A connection may be dead, a queue gone or a consumer forgotten without anybody being notified.
Whoever waits for messages there waits for ever; so it sends some to itself, and reopens what it
consumes from when they do not come.
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
TIMEOUT: Final = 3  # seconds that a message to oneself may take
INTERVAL: Final = 5.0  # seconds between two messages to oneself
AGAIN: Final = 1.0  # seconds until the next one after one that was lost
PERSEVERE: Final = 60.0  # seconds of deafness after which an operator must know


class SelfPing:
    """Served beside every interface, so that its server can be asked whether it is there."""

    target = messaging.Target(namespace=NAMESPACE, version=VERSION)

    @messaging.expose  # type: ignore[untyped-decorator] # oslo.messaging has no types
    def echo(self, context: Any) -> None:
        """Do nothing: that it came is all there is to it."""


class ConsumerLost(exception.Unavailable):
    """The broker took a message for us, or could have, and we will not get it."""


class ConsumerCheck:
    """Listens to one server's queues, or to a queue of answers.

    :param name: who listens, in words
    :param send: sends us something; raises :class:`ConsumerLost` when it surely does not arrive,
        another Unavailable when the broker does not take it
    :param repair: opens what we listen to anew, however long that takes; None: it cannot break
    :param interval: seconds between two messages
    :param clock: seconds that never go back
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
        self._heard_at: float | None = None
        self._deaf_since: float | None = None
        self._missed = 0
        self._told = False

    @property
    def lost_since(self) -> float | None:
        """When the first message was sent that did not come; None: all came."""
        return self._deaf_since

    def note(self) -> None:
        """Note that something came. Any thread may."""
        self._heard_at = self._clock()
        self._came.set()

    def received_within(self, seconds: float) -> bool:
        """Tell whether anything came in the last so many seconds."""
        return self._heard_at is not None and self._clock() - self._heard_at <= seconds

    def call(self) -> None:
        """Send ourselves something.

        :raises roost.exception.Unavailable: when the bus did not take it
        """
        self._send()

    def doubt(self) -> None:
        """Check at once, and let one message that is lost be enough to open anew.

        For whoever has seen the bus away: what was connected then may be dead without a word.
        """
        self._doubted = True
        self._wake.set()

    def start(self) -> None:
        """Check again and again, in a thread, until :meth:`stop`."""
        self._stopping.clear()
        threading.Thread(target=self.run, daemon=True, name="roost-ears").start()

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()

    def run(self) -> None:
        """Check again and again until :meth:`stop`."""
        while not self._stopping.is_set():
            try:
                hears = self.check()
            except Exception:
                if self._stopping.is_set():
                    return  # all is being closed
                LOG.exception("%s: it cannot be told whether it hears", self._name)
                hears = True
            self._wake.wait(self._interval if hears else AGAIN)
            if not self._stopping.is_set():
                self._wake.clear()

    def check(self) -> bool:
        """Send ourselves one message, and mend what we listen to when two in a row are lost.

        :returns: whether it came
        """
        began = self._clock()
        self._came.clear()
        try:
            self._send()
        except ConsumerLost as error:
            return self._miss(began, error.message)
        except exception.Unavailable as error:
            LOG.debug("%s: the bus is away: %s", self._name, error.message)
            return False
        if not self._came.wait(self._timeout):
            return self._miss(began, f"nothing came in {self._timeout} s")
        self._hear()
        return True

    def _hear(self) -> None:
        if self._deaf_since is not None:
            deaf = self._clock() - self._deaf_since
            LOG.warning("%s hears again, after %.1f s", self._name, deaf)
        self._deaf_since, self._missed, self._told = None, 0, False
        self._doubted = False

    def _miss(self, began: float, why: str) -> bool:
        if self._deaf_since is None:
            self._deaf_since = began
        self._missed += 1
        LOG.warning("%s is deaf: %s", self._name, why)
        if not self._told and self._clock() - self._deaf_since > PERSEVERE:
            LOG.critical("%s stays deaf: restart this daemon, and look at its broker", self._name)
            self._told = True
        if self._missed % 2 == 0 or self._doubted:
            self._open_anew()
        return False

    def _open_anew(self) -> None:
        self._doubted = False
        if self._repair is not None and not self._stopping.is_set():
            LOG.warning("%s is opened anew", self._name)
            self._repair()
