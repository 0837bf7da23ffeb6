"""HTTP servers around a WSGI application, for a daemon in this process.

Granian serves with native threads, eventlet's server with green ones. A roost-api of its own with
native threads is served by Granian in worker processes, see ``_granian.py``. In each of them a
request gets a thread when its body is there, of which one address sends so many at once, and who
sends or takes what is long too slowly is cut off.
"""

import asyncio
import contextlib
import dataclasses
import functools
import io
import logging
import pathlib
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Self

from granian.constants import HTTPModes, Interfaces, SSLProtocols
from granian.http import HTTP1Settings
from granian.net import SocketHolder  # type: ignore[attr-defined]
from granian.server import embed
from oslo_config import cfg

from roost import concurrency, exception
from roost.api import admission
from roost.api.callers import ConcurrencyLimit, FairShare, anonymous_caller
from roost.cmd._asgi import Asgi, Pace
from roost.cmd._daemon import DaemonServer

LOG = logging.getLogger(__name__)
IDLE_SECONDS: Final = 75  # that a connection may wait for its next request
HEADER_SECONDS: Final = 30  # that a request may take to come, but for its body; idle time counts
SEND_SECONDS: Final = 30  # that a client may take nothing of what is sent
UNSENT: Final = 65536  # bytes that the system takes before they can be sent; more would hide a pace
LINGER_SECONDS: Final = 5  # that eventlet's server reads of a body that nobody wants
CONNECTIONS: Final = 1000
MAX_HEADERS: Final = 65536  # bytes
_BACKLOG: Final = 1024  # connections that the system keeps until they are looked at
# Granian logs like everything else, not by handlers of its own.
_LOGGERS: Final = {"_granian": {"propagate": True}, "granian.access": {"propagate": True}}
Wsgi = admission.Wsgi


@dataclasses.dataclass(frozen=True)
class TlsIdentity:
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


def in_process(
    app: Wsgi,
    *,
    host: str,
    port: int,
    threads: int,
    max_body: int,
    address_share: float,
    identity: TlsIdentity | None = None,
) -> DaemonServer:
    """Return the server that fits the threads of this process.

    :param threads: requests at once
    :param max_body: bytes of a body that are received before the application is called
    :param address_share: of all connections, those by which one address may be sending a body
    :param identity: serve HTTPS with it
    """
    kind = GreenHttp if concurrency.selected() == concurrency.EVENTLET else ThreadedHttp
    return kind(
        app,
        host=host,
        port=port,
        threads=threads,
        max_body=max_body,
        address_share=address_share,
        identity=identity,
    )


def bodies(address_share: float) -> ConcurrencyLimit:
    """Return places for bodies that are on their way, of which each address may have its share."""
    return ConcurrencyLimit(CONNECTIONS, FairShare(proven=address_share, unproven=address_share))


def listen(host: str, port: int) -> socket.socket:
    """Listen at an address.

    :raises OSError: when the port is taken
    """
    made = socket.create_server(
        (host, port), family=_family(host), backlog=_BACKLOG, dualstack_ipv6=":" in host
    )
    bound(made)
    return made


def bound(listening: Any) -> None:
    """Let the system end each connection of a socket whose client takes nothing for too long.

    It keeps no more of an answer than it needs to go on sending, so that we see how fast it goes.
    """
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SEND_SECONDS * 1000)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT)


def granian_options(identity: TlsIdentity | None) -> dict[str, Any]:
    """Return what Granian is told wherever it serves."""
    return {
        "interface": Interfaces.ASGINL,
        "http": HTTPModes.http1,  # of the other one it bounds no time
        "websockets": False,
        "backpressure": CONNECTIONS,
        "http1_settings": HTTP1Settings(
            header_read_timeout=HEADER_SECONDS * 1000, max_buffer_size=MAX_HEADERS
        ),
        "log_dictconfig": {"handlers": {}, "loggers": _LOGGERS},
        "ssl_cert": identity.certificate if identity else None,
        "ssl_key": identity.key if identity else None,
        "ssl_protocol_min": SSLProtocols.tls12,
    }


class Listening:
    """Granian, on a socket that listens already: it would make its own, without our limits."""

    def __init__(self, descriptor: int, **options: Any) -> None:
        super().__init__(**options)
        self._descriptor = descriptor

    def _init_shared_socket(self) -> None:
        self._shd = SocketHolder(self._descriptor, False, _BACKLOG)  # type: ignore[call-arg]
        self._sso = None


class ThreadedHttp:
    """Granian. ``port`` 0 lets the system choose; after ``start`` it is the port served."""

    def __init__(
        self,
        app: Wsgi,
        *,
        host: str,
        port: int,
        threads: int,
        max_body: int,
        address_share: float,
        identity: TlsIdentity | None = None,
    ) -> None:
        self.host, self.port = host, port
        self._identity = identity
        self._make_app = lambda: Asgi(
            app, threads=threads, max_body=max_body, bodies=bodies(address_share)
        )
        self._serving: _Embedded | None = None

    @property
    def place(self) -> str:
        return f"port {self.port} of {self.host}"

    def start(self) -> None:
        """Serve.

        :raises OSError: when the port is taken
        """
        listening = listen(self.host, self.port)
        self.port = listening.getsockname()[1]
        self._serving = _Embedded(self._make_app(), listening, granian_options(self._identity))  # type: ignore[no-untyped-call]
        self._serving.start()

    def stop(self) -> None:
        if self._serving is not None:
            self._serving.stop()

    def wait(self) -> None:
        if self._serving is not None:
            self._serving.join()


class _EmbeddedGranian(Listening, embed.Server):  # type: ignore[misc]
    """Granian in a thread of this process."""


class _Embedded(threading.Thread):
    """Runs Granian and the loop that it needs; it closes the socket in the end."""

    def __init__(self, app: Asgi, listening: socket.socket, options: dict[str, Any]) -> None:
        super().__init__(name="http", daemon=True)
        self._app = app
        self._server = _EmbeddedGranian(listening.detach(), target=app, **options)
        self._loop = asyncio.new_event_loop()

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._server.serve())
        self._app.close()

    def stop(self) -> None:
        with contextlib.suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._server.stop)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


class GreenHttp:
    """eventlet's server. Several processes may serve one port: the system deals out connections."""

    def __init__(
        self,
        app: Wsgi,
        *,
        host: str,
        port: int,
        threads: int,
        max_body: int,
        address_share: float,
        identity: TlsIdentity | None = None,
    ) -> None:
        self.host, self.port = host, port
        self._identity = identity
        self._app = _bounded(_at_most(threads, app), max_body, bodies(address_share))
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
        bound(self._listener)
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
            protocol=_protocol(),
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

    def serve(environ: admission.Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        with places:
            return app(environ, start_response)

    return serve


def _protocol() -> type:
    """Return how eventlet's server speaks HTTP: it would read an unwanted body for ever."""
    import eventlet
    import eventlet.wsgi

    class Protocol(eventlet.wsgi.HttpProtocol):  # type: ignore[misc]
        def get_environ(self) -> admission.Environ:
            environ: admission.Environ = super().get_environ()
            body = environ["eventlet.input"]
            body.discard = functools.partial(self._discard, body.discard)
            return environ

        def _discard(self, discard: Callable[[], None]) -> None:
            with eventlet.Timeout(LINGER_SECONDS, False):
                discard()
                return
            self.close_connection = 1

    return Protocol


def _bounded(app: Wsgi, max_body: int, bodies: ConcurrencyLimit) -> Wsgi:
    """Read the body in green threads before anything is done with it, all in a bounded time."""

    def serve(environ: admission.Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        environ["wsgi.input_terminated"] = True  # the server ends it, with length and without
        refusal = _read_body(environ, max_body, bodies)
        if refusal:
            return admission.refused(refusal)(environ, start_response)
        environ["wsgi.input"] = io.BufferedReader(_PacedBody(environ["wsgi.input"]))
        environ["eventlet.minimum_write_chunk_size"] = 1  # each piece is sent when it is handed out
        pieces = app(environ, start_response)
        return pieces if isinstance(pieces, list | tuple) else _paced(pieces)

    return serve


def _read_body(environ: admission.Environ, max_body: int, bodies: ConcurrencyLimit) -> int:
    """Read a body, unless it is too long; return the status of a refusal, 0 for none."""
    import eventlet

    if not admission.expected(environ, max_body):
        return 0
    sender = anonymous_caller(environ)
    refusal = bodies.take(sender)
    if refusal:
        return refusal
    try:
        with eventlet.Timeout(admission.BODY_SECONDS, False):
            return 0 if admission.is_read(environ, max_body) else 400
    finally:
        bodies.give_back(sender)
    return 408


class _PacedBody(io.RawIOBase):
    """A body as eventlet's server gives it; it breaks off when it comes too slowly."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self._body = body
        self._pace = Pace()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        with _waiting(self._pace):
            data = self._body.read(min(len(buffer), admission.PIECE))
        self._pace.moved(len(data))
        buffer[: len(data)] = data
        return len(data)


def _paced(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Hand out an answer; while a piece is out, eventlet's server sends it."""
    pace = Pace()
    try:
        for piece in pieces:
            with _waiting(pace):
                yield piece
            pace.moved(len(piece))
    finally:
        admission.close(pieces)


@contextlib.contextmanager
def _waiting(pace: Pace) -> Iterator[None]:
    """Let this green thread wait for its client, not longer than the pace lets it.

    :raises TimeoutError: then
    """
    import eventlet

    begun = time.monotonic()
    with eventlet.Timeout(pace.left, TimeoutError("the client is too slow")):
        yield
    pace.waited(time.monotonic() - begun)
