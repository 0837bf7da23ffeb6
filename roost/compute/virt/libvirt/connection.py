"""The one connection to libvirt: bounded, made anew when libvirtd was, with its events.

Calls of the binding may hang as long as libvirtd or a guest's QEMU do, so each is made in a thread
that can be left alone. libvirt's objects bear that many threads use them.
"""

import functools
import logging
import threading
from collections.abc import Callable
from concurrent import futures
from typing import Any, Final, TypeVar

import libvirt

from roost import concurrency, exception

LOG = logging.getLogger(__name__)
T = TypeVar("T")
Call = Callable[[Any], T]
# Seconds between two signs of life of libvirtd, and how many may be missed.
_KEEPALIVE: Final = (5, 4)
_OF_DEFINITIONS: Final = (libvirt.VIR_DOMAIN_EVENT_DEFINED, libvirt.VIR_DOMAIN_EVENT_UNDEFINED)
_TRANSPORT: Final = (libvirt.VIR_FROM_RPC, libvirt.VIR_FROM_REMOTE)


class Connection:
    """Calls libvirt.

    :param seconds: that it gets to answer
    """

    def __init__(self, uri: str, *, seconds: float) -> None:
        self._uri = uri
        self._seconds = seconds
        self._lock = threading.Lock()
        self._opened: Any = None
        self._told: Callable[[str], None] | None = None
        self._told_of_all: Callable[[], None] = lambda: None

    def call(self, what: str, do: Call[T], *, seconds: float | None = None) -> T:
        """Return what ``do`` makes of the connection.

        :param what: names it in logs and errors
        :param seconds: that this call gets, if it may take longer than others
        :raises roost.exception.Conflict: when the guest is in no state for it
        :raises roost.exception.NotFound: when libvirt knows no such guest
        :raises roost.exception.Timeout: when there is no answer in time; it may come to be later
        :raises roost.exception.Unavailable: when libvirtd cannot be reached
        """
        return self._bounded(what, lambda: do(self._connected()), seconds=seconds)

    def call_apart(self, what: str, do: Call[T]) -> T:
        """Return what ``do`` makes of a connection for itself, which it closes when it is done.

        When it raises that is done here. What is raised else is as in :meth:`call`.
        """
        return self._bounded(what, lambda: self._done_apart(do))

    def _done_apart(self, do: Call[T]) -> T:
        _run_events()
        opened = libvirt.open(self._uri)
        try:
            opened.setKeepAlive(*_KEEPALIVE)
            return do(opened)
        except BaseException:
            opened.close()
            raise

    def _bounded(self, what: str, work: Callable[[], T], *, seconds: float | None = None) -> T:
        result = concurrency.abandonable(work, name=f"libvirt: {what}")
        limit = self._seconds if seconds is None else seconds
        try:
            return result.result(timeout=limit)
        except libvirt.libvirtError as error:
            raise self._translated(what, error) from error
        except TimeoutError as error:
            message = f"libvirt did not {what} within {limit:g} seconds."
            raise exception.Timeout(message) from error

    def start(self, what: str, do: Call[T]) -> futures.Future[T]:
        """Begin what takes as long as it takes, for whoever waits; it fails in libvirt's words."""
        return concurrency.abandonable(lambda: do(self._connected()), name=f"libvirt: {what}")

    @property
    def is_alive(self) -> bool:
        """Whether libvirtd was there the last time that anybody called."""
        with self._lock:
            return self._opened is not None and self._opened.isAlive() == 1

    def listen(self, told: Callable[[str], None], told_of_all: Callable[[], None]) -> None:
        """Have a function called with the name of each domain whose state changes from now on.

        It must return at once. After a time without libvirtd ``told_of_all`` is called.

        :raises roost.exception.Unavailable: when libvirtd cannot be reached (yet)
        """
        self._told, self._told_of_all = told, told_of_all
        self.call("tell of events", lambda opened: opened.isAlive())

    def _connected(self) -> Any:
        with self._lock:
            if self._opened is not None and self._opened.isAlive() == 1:
                return self._opened
            _run_events()
            was_open, self._opened = self._opened is not None, libvirt.open(self._uri)
            self._opened.setKeepAlive(*_KEEPALIVE)
            self._opened.domainEventRegisterAny(
                None, libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, self._on_event, None
            )
            opened = self._opened
        if was_open:
            LOG.warning("libvirtd at %s is back", self._uri)
            self._told_of_all()
        return opened

    def _on_event(
        self, _connection: Any, domain: Any, event: int, _detail: int, _opaque: None
    ) -> None:
        if self._told is not None and event not in _OF_DEFINITIONS:
            self._told(domain.name())

    def _translated(self, what: str, error: Any) -> Exception:
        """Return what to raise; what only libvirt has words for stays as it is."""
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
            return exception.NotFound("There is no such guest on this host.")
        if error.get_error_code() == libvirt.VIR_ERR_OPERATION_INVALID:
            message = f"libvirt cannot {what} in the state that it is in."
            return exception.Conflict(message, why=str(error))
        if error.get_error_domain() in _TRANSPORT or not self.is_alive:
            return exception.Unavailable(
                f"libvirt cannot be reached at {self._uri} to {what}.", why=str(error)
            )
        return error  # type: ignore[no-any-return]


@functools.cache
def _run_events() -> None:
    """Start what keeps all connections of this process alive, and hears their events."""
    libvirt.virEventRegisterDefaultImpl()
    libvirt.registerErrorHandler(lambda _opaque, _error: None, None)  # errors are raised
    threading.Thread(target=_loop, name="libvirt: events", daemon=True).start()


def _loop() -> None:
    while True:
        try:
            libvirt.virEventRunDefaultImpl()
        except libvirt.libvirtError:
            LOG.exception("libvirt's events stumbled")
