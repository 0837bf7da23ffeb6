"""The life cycle of one daemon inside its process: wait for dependencies, serve, stop in order.

``cmd/<daemon>.py`` builds a ``Daemon`` without opening anything; ``_run.py`` runs it in a process
of its own, the embedded rig and tests start and stop it in theirs. Its periodic tasks are
``Periodic`` objects.
"""

import contextlib
import functools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, Self

from roost import exception
from roost.cmd._waiting import StartupCheck, StartupWait, growing_pauses
from roost.rpc.interface import Interface
from roost.rpc.transport import Bus

LOG = logging.getLogger(__name__)


class Periodic:
    """Calls a function at once and then every ``seconds``, in a thread of its own.

    An exception of the function is logged, and the function is called again all the same.

    :param seconds: from the end of one call to the next; a callable is called each time, so that
        the option can be reloaded
    """

    def __init__(
        self, seconds: float | Callable[[], float], function: Callable[[], object], name: str
    ) -> None:
        self.name = name
        self._seconds = seconds
        self._function = function
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._repeat, name=self.name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Start no more calls; a running call goes on."""
        self._stopping.set()

    def wait(self) -> None:
        """Wait for the end of the running call."""
        if self._thread is not None:
            self._thread.join()

    def _repeat(self) -> None:
        while not self._stopping.is_set():
            self._call()
            self._stopping.wait(self._pause())

    def _pause(self) -> float:
        return self._seconds() if callable(self._seconds) else self._seconds

    def _call(self) -> None:
        try:
            self._function()
        except exception.Unavailable as error:
            LOG.warning("%s: %s; again in %g s", self.name, error.message, self._pause())
        except Exception:
            LOG.exception("%s failed; again in %g s", self.name, self._pause())


CLOSING = 10.0  # seconds that buses and engines get to close
ENDLESS = 86400.0  # seconds


class DaemonServer(Protocol):
    """A server of a daemon, at an address that it may have to wait for."""

    @property
    def address(self) -> str: ...

    def start(self) -> None:
        """Return once requests are accepted; after a failure it may be called again."""

    def stop(self) -> None:
        """Accept no more requests."""

    def wait(self) -> None:
        """Return when all accepted requests are answered."""


class Closable(Protocol):
    """A bus, or a database."""

    def close(self) -> None: ...


class RpcServer:
    """Serves one interface on one bus, ``threads`` messages at once.

    :raises roost.rpc.interface.ContractBroken: when ``manager`` does not implement the interface
    """

    def __init__(
        self, bus: Bus, interface: type[Interface], manager: object, *, name: str, threads: int
    ) -> None:
        self.address = f"the topic {interface.topic} of the bus {bus.name!r}"
        self._server = bus.server(interface, manager, name)
        self._threads = threads
        self.consumer_state = self._server.consumer_state

    def start(self) -> None:
        try:
            self._server.start(self._threads)
        except Exception:
            self._server.stop()
            raise

    def stop(self) -> None:
        self._server.stop()

    def wait(self) -> None:
        self._server.wait()


class Daemon:
    """The running parts of one daemon. It is started once and stopped once.

    :param checks: startup checks, each repeated in this order until it passes
    :param on_start: called after the checks, each until it succeeds, before it serves
    :param servers: its servers
    :param periodics: its periodic tasks while it serves
    :param drain: called while the servers stop, with the seconds that running work may take
    :param on_stop: called when no work is running any more
    :param closing: closed last
    """

    def __init__(
        self,
        name: str,
        *,
        checks: Sequence[StartupCheck] = (),
        on_start: Sequence[StartupCheck] = (),
        servers: Sequence[DaemonServer] = (),
        periodics: Sequence[Periodic] = (),
        drain: Sequence[Callable[[float], object]] = (),
        on_stop: Sequence[Callable[[], object]] = (),
        closing: Sequence[Closable] = (),
        pauses: Callable[[], Iterable[float]] = growing_pauses,
    ) -> None:
        self.name = name
        self.servers = servers
        self.periodics = periodics
        self.needs = (*checks, *on_start)
        self.drain = drain
        self.on_stop = on_stop
        self.closing = closing
        self._pauses = pauses
        self._stopping = threading.Event()
        self._stopped = threading.Event()
        self._starting = threading.Lock()
        self._started: list[DaemonServer] = []
        self.serving = False
        self.on_give_up: Callable[[], object] = lambda: None

    @classmethod
    def joined(cls, name: str, *daemons: Self) -> Self:
        """Make one daemon from the parts of several, none of which was started."""
        return cls(
            name,
            checks=[each for daemon in daemons for each in daemon.needs],
            servers=[each for daemon in daemons for each in daemon.servers],
            periodics=[each for daemon in daemons for each in daemon.periodics],
            drain=[each for daemon in daemons for each in daemon.drain],
            on_stop=[each for daemon in daemons for each in daemon.on_stop],
            closing=[each for daemon in daemons for each in daemon.closing],
        )

    def start(self, tell: Callable[[str], None] = lambda _: None) -> bool:
        """Wait for all checks, without a time limit, and serve.

        :param tell: called with a line about the check it waits for
        :returns: whether it serves now; False when :meth:`stop` came first
        """
        with self._starting:
            waiting = StartupWait(
                self.name, stopping=self._stopping, tell=tell, pauses=self._pauses
            )
            self.serving = waiting.until(self.needs) and self._start_servers(waiting)
            if self.serving:
                for periodic in self.periodics:
                    periodic.start()
                LOG.info("%s serves", self.name)
        return self.serving

    def stop(self, grace: float | None = 60.0) -> None:
        """Accept no more requests, finish the running ones, close everything.

        It may be called at any time: before, during and after :meth:`start`, and again.

        :param grace: seconds that running requests get; None: as long as they need
        """
        self._stopping.set()
        with self._starting:
            if self._stopped.is_set():
                return
            LOG.info("%s stops", self.name)
            self.serving = False
            self._finish(grace)
            for step in self.on_stop:
                with _logged(f"{self.name}: stopping"):
                    step()
            _in_parallel([thing.close for thing in self.closing], timeout=CLOSING)
            self._stopped.set()
        LOG.info("%s has stopped", self.name)

    def abandon(self, why: str) -> None:
        """Stop permanently, because another process has replaced this daemon; return at once.

        Then ``on_give_up`` is called, which ends the process.
        """
        LOG.critical("%s ends: %s", self.name, why)

        def end() -> None:
            self.stop(CLOSING)
            self.on_give_up()

        threading.Thread(target=end, name="giving up").start()

    def wait(self) -> None:
        """Return when :meth:`stop` is complete."""
        self._stopped.wait()

    def reload(self) -> None:
        """Apply the reloadable options, which have been read again.

        Log levels have changed by then, and periodics read their intervals each time. All others
        are constructor arguments: oslo.config has warned that they require a restart.
        """
        LOG.info("%s has reloaded the options that need no restart", self.name)

    def _start_servers(self, waiting: StartupWait) -> bool:
        return all(
            waiting.until(
                [StartupCheck(server.address, functools.partial(self._start_server, server))]
            )
            for server in self.servers
        )

    def _start_server(self, server: DaemonServer) -> None:
        server.start()
        self._started.append(server)

    def _finish(self, grace: float | None) -> None:
        """Stop all servers at once: an idle one takes about 4 s, by its library's poll."""
        for periodic in self.periodics:
            periodic.stop()
        ends: list[Callable[[], object]] = [_ended(server) for server in self._started]
        ends += [periodic.wait for periodic in self.periodics]
        seconds = ENDLESS if grace is None else grace
        ends += [functools.partial(drain, seconds) for drain in self.drain]
        unfinished = _in_parallel(ends, timeout=grace)
        if unfinished:
            LOG.warning(
                "%s: work is still running after %g s; it is left to the sweepers", self.name, grace
            )


def _ended(server: DaemonServer) -> Callable[[], None]:
    def end() -> None:
        server.stop()
        server.wait()

    return end


def _in_parallel(functions: Sequence[Callable[[], object]], *, timeout: float | None) -> int:
    """Call all at once; return how many have not ended in time."""
    threads = [threading.Thread(target=_call, args=(each,), daemon=True) for each in functions]
    for thread in threads:
        thread.start()
    deadline = None if timeout is None else time.monotonic() + timeout
    for thread in threads:
        thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
    return sum(thread.is_alive() for thread in threads)


def _call(function: Callable[[], object]) -> None:
    with _logged(getattr(function, "__qualname__", "stopping")):
        function()


@contextlib.contextmanager
def _logged(what: str) -> Iterator[None]:
    try:
        yield
    except Exception:
        LOG.exception("%s failed", what)
