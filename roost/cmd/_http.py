"""HTTP servers around a WSGI application, for a daemon in this process.

Cheroot serves with native threads (the embedded rig, tests), eventlet's server with green ones.
A roost-api of its own with native threads is served by Granian, see ``_granian.py``.
"""

import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

from cheroot import wsgi

from roost import concurrency
from roost.cmd._daemon import Server

LOG = logging.getLogger(__name__)
IDLE_SECONDS: Final = 75  # that a connection may wait for its next request
CONNECTIONS: Final = 1000
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def in_process(app: Wsgi, *, host: str, port: int, threads: int) -> Server:
    """Return the server that fits the threads of this process.

    :param threads: requests at once
    """
    kind = GreenHttp if concurrency.selected() == concurrency.EVENTLET else ThreadedHttp
    return kind(app, host=host, port=port, threads=threads)


class ThreadedHttp:
    """Cheroot. ``port`` 0 lets the system choose; after ``start`` it is the port served."""

    def __init__(self, app: Wsgi, *, host: str, port: int, threads: int) -> None:
        self.host, self.port = host, port
        self._app = app
        self._threads = threads
        self._server: wsgi.Server | None = None
        self._serving: threading.Thread | None = None

    @property
    def place(self) -> str:
        return f"port {self.port} of {self.host}"

    def start(self) -> None:
        """Serve.

        :raises OSError: when the port is taken
        """
        _check_free(self.host, self.port)
        server = _Cheroot(
            (self.host, self.port),
            self._app,
            numthreads=self._threads,
            timeout=IDLE_SECONDS,
            shutdown_timeout=3600,  # whoever stops us says how long
        )
        server.prepare()
        self.port = server.bind_addr[1]
        self._server = server
        self._serving = threading.Thread(target=server.serve, name="http", daemon=True)
        self._serving.start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()

    def wait(self) -> None:
        if self._serving is not None:
            self._serving.join()


def _check_free(host: str, port: int) -> None:
    """Raise OSError when the port is taken: cheroot would, too, but leave its socket open."""
    socket.create_server((host, port), family=_family(host)).close()


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


class _Cheroot(wsgi.Server):
    """Cheroot, with its errors in our log."""

    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:
        LOG.log(level, "%s", msg, exc_info=traceback)


class GreenHttp:
    """eventlet's server. Several processes may serve one port: the system deals out connections."""

    def __init__(self, app: Wsgi, *, host: str, port: int, threads: int) -> None:
        self.host, self.port = host, port
        self._app = _at_most(threads, app)
        self._listener: Any = None
        self._serving: Any = None

    @property
    def place(self) -> str:
        return f"port {self.port} of {self.host}"

    def start(self) -> None:
        """Serve.

        :raises OSError: when the port is taken
        """
        import eventlet
        import eventlet.wsgi

        self._listener = eventlet.listen(
            (self.host, self.port), family=_family(self.host), backlog=1024, reuse_port=True
        )
        self.port = self._listener.getsockname()[1]
        self._serving = eventlet.spawn(
            eventlet.wsgi.server,
            self._listener,
            self._app,
            log=LOG,
            log_output=False,
            max_size=CONNECTIONS,
            keepalive=IDLE_SECONDS,
            socket_timeout=IDLE_SECONDS,
            debug=False,
        )

    def stop(self) -> None:
        if self._serving is not None:
            self._serving.kill()
            self._listener.close()

    def wait(self) -> None:
        from eventlet.support import greenlets

        with contextlib.suppress(greenlets.GreenletExit):
            if self._serving is not None:
                self._serving.wait()


def _at_most(threads: int, app: Wsgi) -> Wsgi:
    """Let so many requests in at once; idle connections take no place."""
    places = threading.BoundedSemaphore(threads)

    def serve(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        with places:
            return app(environ, start_response)

    return serve
