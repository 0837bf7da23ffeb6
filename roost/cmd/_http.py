"""HTTP servers around a WSGI application, for a daemon in this process.

cheroot serves with native threads, eventlet's server with green ones. A roost-api of its own with
native threads is served by Granian in worker processes, see ``_granian.py``. None of them protects
against slow clients: the proxy before them does.
"""

import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

import cheroot.wsgi

from roost import concurrency
from roost.api.admission import Environ, Wsgi
from roost.cmd._daemon import DaemonServer

LOG = logging.getLogger(__name__)
IDLE_SECONDS: Final = 75  # that a connection may be idle between or within requests
CONNECTIONS: Final = 1000
BACKLOG: Final = 1024  # connections that the system queues until they are accepted
MAX_HEADERS: Final = 65536  # bytes


def in_process(app: Wsgi, *, host: str, port: int, threads: int) -> DaemonServer:
    """Return the server for the kind of threads of this process.

    :param port: 0: the system chooses; after ``start`` the server's ``port`` is the real one
    :param threads: requests at once
    """
    if concurrency.selected() == concurrency.EVENTLET:
        return GreenHttp(app, host=host, port=port)
    return ThreadedHttp(app, host=host, port=port, threads=threads)


class ThreadedHttp:
    """cheroot."""

    def __init__(self, app: Wsgi, *, host: str, port: int, threads: int) -> None:
        self.host, self.port = host, port
        self._server = cheroot.wsgi.Server(
            (host, port),
            app,
            numthreads=threads,
            request_queue_size=BACKLOG,
            timeout=IDLE_SECONDS,
        )
        self._server.max_request_header_size = MAX_HEADERS
        self._serving = threading.Thread(target=self._server.serve, name="http", daemon=True)

    @property
    def address(self) -> str:
        return f"port {self.port} of {self.host}"

    def start(self) -> None:
        """Serve.

        :raises OSError: when the port is taken
        """
        self._server.prepare()
        self.port = self._server.bind_addr[1]
        self._serving.start()

    def stop(self) -> None:
        """Answer running requests, for a few seconds, and end."""
        self._server.stop()

    def wait(self) -> None:
        if self._serving.ident is not None:
            self._serving.join()


class GreenHttp:
    """eventlet's server. Several processes may serve one port: the system balances connections."""

    def __init__(self, app: Wsgi, *, host: str, port: int) -> None:
        self.host, self.port = host, port
        self._app = _with_chunks(app)
        self._listener: Any = None
        self._serving: Any = None

    @property
    def address(self) -> str:
        return f"port {self.port} of {self.host}"

    def start(self) -> None:
        """Serve.

        :raises OSError: when the port is taken
        """
        import eventlet
        import eventlet.wsgi

        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self._listener = eventlet.listen(
            (self.host, self.port), family=family, backlog=BACKLOG, reuse_port=True
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


def _with_chunks(app: Wsgi) -> Wsgi:
    """Set ``wsgi.input_terminated``: eventlet's server ends bodies, but does not declare it."""

    def serve(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        environ["wsgi.input_terminated"] = True
        return app(environ, start_response)

    return serve
