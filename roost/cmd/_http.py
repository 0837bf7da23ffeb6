"""HTTP servers around a WSGI application, for a daemon in this process.

Cheroot serves with native threads (the embedded rig, tests), eventlet's server with green ones.
A roost-api of its own with native threads is served by Granian, see ``_granian.py``.
"""

import contextlib
import dataclasses
import logging
import pathlib
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final, Self

from cheroot import wsgi
from cheroot.ssl.builtin import BuiltinSSLAdapter
from oslo_config import cfg

from roost import concurrency, exception
from roost.cmd._daemon import Server

LOG = logging.getLogger(__name__)
IDLE_SECONDS: Final = 75  # that a connection may wait for its next request
HEADER_SECONDS: Final = 30  # that a request may take to come, but for its body; idle time counts
CONNECTIONS: Final = 1000
MAX_HEADERS: Final = 65536  # bytes
_REFUSERS: Final = 8  # threads beyond those that work and wait: they tell others to come later
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@dataclasses.dataclass(frozen=True)
class Identity:
    """What a server proves with who it is: files of its certificate and of the key to it."""

    certificate: pathlib.Path
    key: pathlib.Path

    @classmethod
    def of(cls, conf: cfg.ConfigOpts, group: str = "api") -> Self | None:
        """Return what the options of a group name, None when they name nothing.

        :raises roost.exception.Invalid: when a file is missing
        """
        named = {
            name: conf[group][name]
            for name in ("certificate_file", "key_file")
            if conf[group][name]
        }
        if not named:
            return None
        for name in ("certificate_file", "key_file"):
            if not pathlib.Path(named.get(name, "")).is_file():
                raise exception.Invalid(
                    f"[{group}] {name} must name a file: {named.get(name, '')!r}"
                )
        return cls(pathlib.Path(named["certificate_file"]), pathlib.Path(named["key_file"]))


def threads(conf: cfg.ConfigOpts) -> int:
    """Return how many threads a server needs so that the API's gate can do what it promises."""
    return int(conf.api.threads + conf.api.max_waiting + _REFUSERS)


def in_process(
    app: Wsgi, *, host: str, port: int, threads: int, identity: Identity | None = None
) -> Server:
    """Return the server that fits the threads of this process.

    :param threads: requests at once
    :param identity: serve HTTPS with it
    """
    kind = GreenHttp if concurrency.selected() == concurrency.EVENTLET else ThreadedHttp
    return kind(app, host=host, port=port, threads=threads, identity=identity)


class ThreadedHttp:
    """Cheroot. ``port`` 0 lets the system choose; after ``start`` it is the port served."""

    def __init__(
        self,
        app: Wsgi,
        *,
        host: str,
        port: int,
        threads: int,
        identity: Identity | None = None,
    ) -> None:
        self.host, self.port = host, port
        self._identity = identity
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
            request_queue_size=128,
            shutdown_timeout=3600,  # whoever stops us says how long
        )
        server.max_request_header_size = MAX_HEADERS
        if self._identity is not None:
            files = str(self._identity.certificate), str(self._identity.key)
            server.ssl_adapter = BuiltinSSLAdapter(*files)
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

    def __init__(
        self,
        app: Wsgi,
        *,
        host: str,
        port: int,
        threads: int,
        identity: Identity | None = None,
    ) -> None:
        self.host, self.port = host, port
        self._identity = identity
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
        if self._identity is not None:
            self._listener = eventlet.wrap_ssl(
                self._listener,
                certfile=str(self._identity.certificate),
                keyfile=str(self._identity.key),
                server_side=True,
            )
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
        environ["wsgi.input_terminated"] = True  # the server ends it, with length and without
        with places:
            return app(environ, start_response)

    return serve
