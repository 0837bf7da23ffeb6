"""The connection to libvirtd: calls with timeouts, reconnection, and events.

Calls of the binding may hang as long as libvirtd or a guest's QEMU do, so each runs in a thread
that can be abandoned. libvirt's objects are thread-safe.
"""

import functools
import logging
import threading
from collections.abc import Callable
from concurrent import futures
from typing import Any, Final, TypeVar

import libvirt

from roost import concurrency, exception
from roost.context import carried

LOG = logging.getLogger(__name__)
T = TypeVar("T")
Call = Callable[[Any], T]
# Seconds between two keepalive messages of libvirtd, and how many may be missed.
_KEEPALIVE: Final = (5, 4)
_OF_DEFINITIONS: Final = (libvirt.VIR_DOMAIN_EVENT_DEFINED, libvirt.VIR_DOMAIN_EVENT_UNDEFINED)
# There is no domain, or one that others have defined.
NO_GUEST: Final = (libvirt.VIR_ERR_NO_DOMAIN, libvirt.VIR_ERR_NO_DOMAIN_METADATA)
_TRANSPORT: Final = (libvirt.VIR_FROM_RPC, libvirt.VIR_FROM_REMOTE)


class Connection:
    """Calls libvirt.

    :param seconds: timeout of a call
    """

    def __init__(self, uri: str, *, seconds: float) -> None:
        self._uri = uri
        self._seconds = seconds
        self._lock = threading.Lock()
        self._opened: Any = None
        self._notify: Callable[[str], None] | None = None
        self._notify_all: Callable[[], None] = lambda: None
        self._listens = False

    def call(
        self, what: str, do: Call[T], *, seconds: float | None = None, once: bool = False
    ) -> T:
        """Return ``do(connection)``.

        If the connection breaks, also in the middle of ``do``, it is opened again and ``do`` is
        repeated, once.

        :param what: completes "libvirt cannot ..." in logs and errors
        :param seconds: timeout of this call, if it may take longer than others
        :param once: ``do`` must not be repeated
        :raises roost.exception.Conflict: when the guest's state does not allow it
        :raises roost.exception.NotFound: when libvirt knows no such guest
        :raises roost.exception.Timeout: when there is no answer in time; the call may still take
            effect
        :raises roost.exception.Unavailable: when libvirtd cannot be reached
        """
        work = self._done if once else self._done_or_repeated
        return self._bounded(what, lambda: work(do), seconds=seconds)

    def _done(self, do: Call[T]) -> T:
        return do(self._connected())

    def _done_or_repeated(self, do: Call[T]) -> T:
        opened = self._connected()
        try:
            return do(opened)
        except libvirt.libvirtError as error:
            if error.get_error_domain() not in _TRANSPORT or _answers(opened):
                raise
            LOG.info("the connection to libvirtd at %s broke: %s; again", self._uri, error)
        return do(self._connected(broken=opened))

    def call_apart(self, what: str, do: Call[T]) -> T:
        """Return ``do(connection)`` for a new connection, which ``do`` closes when it is done.

        It is closed here when ``do`` raises. Other errors are those of :meth:`call`.
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
        result = concurrency.abandonable(carried(work), name=f"libvirt: {what}")
        limit = self._seconds if seconds is None else seconds
        try:
            return result.result(timeout=limit)
        except libvirt.libvirtError as error:
            raise self._translated(what, error) from error
        except TimeoutError as error:
            message = f"libvirt did not {what} within {limit:g} seconds."
            raise exception.Timeout(message) from error

    def start(self, what: str, do: Call[T]) -> futures.Future[T]:
        """Start a call without timeout; its future fails with libvirt's own errors."""
        return concurrency.abandonable(
            carried(lambda: do(self._connected())), name=f"libvirt: {what}"
        )

    @property
    def is_alive(self) -> bool:
        """Whether the connection was alive at the last call."""
        with self._lock:
            return self._opened is not None and self._opened.isAlive() == 1

    def listen(self, notify: Callable[[str], None], notify_all: Callable[[], None]) -> None:
        """Call ``notify`` with the domain's uuid at each change of a domain's state from now on.

        Both functions must return at once. ``notify_all`` is called after each reconnection to
        libvirtd.

        Call it in the process that serves. Until then there is no event loop: a daemon that has
        looked at its node before it forks would leave the loop, and its thread, to the parent.

        :raises roost.exception.Unavailable: when libvirtd cannot be reached (yet)
        """
        self._notify, self._notify_all = notify, notify_all
        with self._lock:
            self._listens, self._opened = True, None  # one without events is not used any more
        self.call("report events", lambda opened: opened.isAlive())

    def _connected(self, *, broken: Any = None) -> Any:
        """Return a connection other than the broken one, which may still count as alive."""
        with self._lock:
            if self._opened not in (None, broken) and self._opened.isAlive() == 1:
                return self._opened
            if self._listens:
                _run_events()
            was_open, self._opened = self._opened is not None, libvirt.open(self._uri)
            if self._listens:
                self._opened.setKeepAlive(*_KEEPALIVE)
                self._opened.domainEventRegisterAny(
                    None, libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, self._on_event, None
                )
            opened = self._opened
        if was_open:
            LOG.info("libvirtd at %s is back", self._uri)
            self._notify_all()
        return opened

    def _on_event(
        self, _connection: Any, domain: Any, event: int, _detail: int, _opaque: None
    ) -> None:
        if self._notify is not None and event not in _OF_DEFINITIONS:
            self._notify(domain.UUIDString())

    def _translated(self, what: str, error: Any) -> Exception:
        """Return the exception to raise; other libvirt errors stay as they are."""
        if error.get_error_code() in NO_GUEST:
            return exception.NotFound("There is no such guest on this host.")
        if error.get_error_code() == libvirt.VIR_ERR_OPERATION_INVALID:
            message = f"libvirt cannot {what} in its present state."
            return exception.Conflict(message, why=str(error))
        if error.get_error_domain() in _TRANSPORT or not self.is_alive:
            return exception.Unavailable(
                f"libvirt cannot be reached at {self._uri} to {what}.", why=str(error)
            )
        return error  # type: ignore[no-any-return]


def _answers(opened: Any) -> bool:
    """Return whether libvirtd answers on a connection: not each error of RPC is that of ours."""
    try:
        opened.getLibVersion()
    except libvirt.libvirtError:
        return False
    return True


@functools.cache
def _run_events() -> None:
    """Start the event loop, which serves keepalives and events of all connections."""
    libvirt.virEventRegisterDefaultImpl()
    libvirt.registerErrorHandler(lambda _opaque, _error: None, None)  # errors are raised
    threading.Thread(target=_loop, name="libvirt: events", daemon=True).start()


def _loop() -> None:
    while True:
        try:
            libvirt.virEventRunDefaultImpl()
        except libvirt.libvirtError:
            LOG.exception("an error in libvirt's event loop")
