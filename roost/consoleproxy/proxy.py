"""The HTTP side of the proxy: checks tokens and origins, and serves the files of the viewers.

A token is in a request's query or cookie. Only pages of the proxy itself and of the origins in the
options may open consoles. Files of noVNC and spice-html5 come only from the folders in the options.

The library starts a thread for each connection without a limit: the limit is here. It logs requests
with their tokens, so its log is disabled.
"""

import contextlib
import dataclasses
import logging
import mimetypes
import pathlib
import socket
import ssl
import threading
import urllib.parse
from collections.abc import Callable, Collection, Mapping
from http import cookies
from typing import Any, Final

from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from roost import exception
from roost.clock import boot_clock
from roost.consoleproxy import sessions
from roost.consoleproxy.sessions import ConsoleSession
from roost.consoleproxy.tokens import ConsoleTarget, Tokens

_NAME: Final = "token"
_USUAL_PORTS: Final = {"http": 80, "ws": 80, "https": 443, "wss": 443}


def token_in(target: str, cookie: str) -> str:
    """Return the token of a request; empty: it has none.

    It is in the query, in noVNC's ``path`` parameter of the query, or in a cookie.

    :param target: path and query
    :param cookie: the header of that name
    """
    query = _query(target)
    if _NAME in query:
        return query[_NAME]
    inner = _query(query.get("path", ""))
    return inner.get(_NAME) or _in_cookie(cookie)


def is_welcome(origin: str | None, *, host: str, allowed: Collection[str]) -> bool:
    """Return whether a page of that origin may open consoles.

    Browsers send the origin of a page, so no other site can open consoles in its user's name. A
    client that sends none is not a browser.

    :param host: the header of that name, which identifies the proxy's own pages
    :param allowed: further origins
    """
    if origin is None:
        return True
    site = _site(origin)
    if site is None:
        return False
    return site in {_site(each) for each in allowed} or site == _site(f"{site[0]}://{host}")


def _site(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port; None: not an origin."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port or _USUAL_PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not parts.hostname or port is None:
        return None
    return parts.scheme, parts.hostname, port


def _query(target: str) -> dict[str, str]:
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(target).query))


def _in_cookie(header: str) -> str:
    try:
        found = cookies.SimpleCookie(header).get(_NAME)
    except cookies.CookieError:
        return ""
    return found.value if found else ""


# Browsers run modules of this type only; the systems' tables of types differ.
_TYPES: Final = {".js": "text/javascript", ".mjs": "text/javascript", ".json": "application/json"}
_OTHER: Final = "application/octet-stream"
_TEXT: Final = "text/plain; charset=utf-8"
_ALLOWED: Final = "GET, HEAD, OPTIONS"


@dataclasses.dataclass(frozen=True)
class StaticFile:
    content_type: str
    data: bytes


def find(folders: Mapping[str, pathlib.Path], target: str) -> StaticFile | None:
    """Return the file of a request; None: there is none.

    :param folders: by the first part of their paths; "" serves all other paths
    :param target: path and query
    """
    asked = urllib.parse.unquote(target.partition("?")[0].partition("#")[0])
    parts = pathlib.PurePosixPath(asked.lstrip("/")).parts
    if ".." in parts or "\0" in asked:
        return None
    if len(parts) > 1 and parts[0] in folders:
        folder, parts = folders.get(parts[0]), parts[1:]
    else:
        folder = folders.get("")
    if folder is None:
        return None
    path = folder.joinpath(*parts)
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or _OTHER
    return StaticFile(kind, path.read_bytes()) if path.is_file() else None


_ALIVE: Final = StaticFile(_TEXT, b"OK\n")
_OWN: Final = {"/": _ALIVE, "/healthcheck": _ALIVE}  # unless the folders have such files
LOG = logging.getLogger(__name__)
_LIBRARY: Final = logging.getLogger(f"{__name__}.library")
_LIBRARY.setLevel(logging.CRITICAL + 1)
_OPENING: Final = 15.0  # seconds that a client may take to send its request
_PAUSE: Final = 0.1  # seconds after an accept() that failed
_CLOSING: Final = 2.0  # seconds that a browser may take for the closing handshake
_LONGEST: Final = 1 << 20  # bytes of one message from a browser
_BACKLOG: Final = 128
_BINARY: Final = Subprotocol("binary")  # the subprotocol of older clients
_FAILED: Final = 1011  # codes of RFC 6455, 7.4.1
_SOON: Final = 5.0  # seconds before a token expires from which it is not looked up any more
Receive = Callable[[socket.socket, Any], None]


@dataclasses.dataclass(frozen=True)
class ProxySettings:
    """The settings of the proxy.

    :param web: folders of the pages, as in :func:`roost.consoleproxy.proxy.find`
    :param idle_seconds: after which a connection without data in either direction is closed
    :param ping_seconds: between two pings of a browser, and until a ping must be answered:
        otherwise the connection counts as lost
    """

    host: str = "127.0.0.1"
    port: int = 6080
    tls: ssl.SSLContext | None = None
    origins: tuple[str, ...] = ()
    web: Mapping[str, pathlib.Path] = dataclasses.field(default_factory=dict)
    most: int = 200
    idle_seconds: float = 3600.0
    ping_seconds: float = 20.0
    ends_with_token: bool = False


class _Caller(ServerConnection):
    """A connection, with its token and console target once they are known."""

    token: str = ""
    target: ConsoleTarget | None = None


class ConsoleProxy:
    """A server for ``cmd/``. With port 0 the system chooses; ``port`` is the actual one then."""

    def __init__(self, settings: ProxySettings, tokens: Tokens) -> None:
        self._settings = settings
        self._tokens = tokens
        self.host, self.port = settings.host, settings.port
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._callers: set[threading.Thread] = set()
        self._sessions: set[ConsoleSession] = set()
        self._listener: socket.socket | None = None
        self._serving: threading.Thread | None = None

    @property
    def address(self) -> str:
        return f"port {self.port} of {self.host}"

    def start(self) -> None:
        """Listen, and serve in a thread.

        :raises OSError: when the port is in use
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listener = socket.create_server((self.host, self.port), family=family, backlog=_BACKLOG)
        self.port = listener.getsockname()[1]
        library = serve(
            self._open_console,
            sock=listener,
            ssl=self._settings.tls,
            process_request=self._check,
            select_subprotocol=lambda _, offered: _BINARY if _BINARY in offered else None,
            create_connection=_Caller,
            compression=None,
            open_timeout=_OPENING,
            ping_interval=self._settings.ping_seconds,
            ping_timeout=self._settings.ping_seconds,
            close_timeout=_CLOSING,
            max_size=_LONGEST,
            server_header=None,
            logger=_LIBRARY,
        )
        self._listener = library.socket
        self._serving = threading.Thread(
            target=self._serve, args=(library.socket, library.handler), name="http", daemon=True
        )
        self._serving.start()

    def stop(self) -> None:
        """Accept no more connections, and end the sessions: a console may be open for days."""
        self._stopping.set()
        if self._listener is not None:
            with contextlib.suppress(OSError):  # wakes the thread in accept()
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        for session in self._open():
            session.end()

    def wait(self) -> None:
        if self._serving is not None:
            self._serving.join()
        with self._lock:
            callers = list(self._callers)
        for caller in callers:
            caller.join()

    def end_revoked(self) -> None:
        """End sessions whose token was revoked, and with the option those whose token expired.

        Expired tokens are deleted, too; without the option their sessions go on.

        :raises roost.exception.Unavailable: when the database is unavailable
        """
        now, current = boot_clock(), self._open()
        lasting = {each.target.digest for each in current if each.target.until - now > _SOON}
        missing = self._tokens.missing(lasting)
        for session in current:
            expired = self._settings.ends_with_token and session.target.until <= now
            if expired or session.target.digest in missing:
                LOG.info(
                    "[instance: %s] console token revoked or expired", session.target.instance_uuid
                )
                session.end()

    def _open(self) -> list[ConsoleSession]:
        with self._lock:
            return list(self._sessions)

    def _serve(self, listener: socket.socket, receive: Receive) -> None:
        """Accept connections up to the limit; close the others."""
        while True:
            try:
                connection, address = listener.accept()
            except OSError:
                if self._stopping.wait(_PAUSE):
                    return
                continue  # the client disconnected, or the process has too many open files
            caller = threading.Thread(
                target=self._receive, args=(receive, connection, address), daemon=True
            )
            with self._lock:
                full = len(self._callers) >= self._settings.most
                if not full:
                    self._callers.add(caller)
                    caller.start()
            if full:
                LOG.warning("%d connections are open; another is refused", self._settings.most)
                connection.close()

    def _receive(self, receive: Receive, connection: socket.socket, address: Any) -> None:
        try:
            receive(connection, address)
        finally:
            with self._lock:
                self._callers.discard(threading.current_thread())

    def _check(self, caller: ServerConnection, request: Request) -> Response | None:
        """Return the response to a request; None: it may become a WebSocket."""
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return _page(self._settings.web, request)
        origin, host = request.headers.get("Origin"), request.headers.get("Host", "")
        if not is_welcome(origin, host=host, allowed=self._settings.origins):
            LOG.warning("a page of %r may not open consoles", origin)
            return _refusal(403, "Pages of this origin may not open consoles")
        assert isinstance(caller, _Caller)
        return self._check_token(caller, request)

    def _check_token(self, caller: _Caller, request: Request) -> Response | None:
        caller.token = token_in(request.path, "; ".join(request.headers.get_all("Cookie")))
        try:
            caller.target = self._tokens.find(caller.token)
        except exception.Unavailable as error:
            LOG.warning("no console can be opened now: %s", error.message)
            return _refusal(503, "Please try again later")
        except Exception:
            LOG.exception("a token could not be looked up")
            return _refusal(500, "An unexpected failure")
        if caller.target is None:
            LOG.info("%s sent no valid console token", caller.remote_address[0])
            return _refusal(403, "The token is unknown, or has expired")
        return None

    def _open_console(self, caller: ServerConnection) -> None:
        assert isinstance(caller, _Caller)
        target = caller.target
        assert target is not None
        try:
            console = sessions.connect(target, caller.token)
        except exception.Unavailable as error:
            LOG.warning(
                "[instance: %s] console unavailable: %s", target.instance_uuid, error.message
            )
            caller.close(_FAILED, "The console cannot be reached.")
            return
        self._run(ConsoleSession(target, caller, console, idle=self._settings.idle_seconds))

    def _run(self, session: ConsoleSession) -> None:
        target = session.target
        with self._lock:
            self._sessions.add(session)
            if self._stopping.is_set():
                session.end()
        LOG.info("[instance: %s] %s console is open", target.instance_uuid, target.kind)
        try:
            session.run()
        except Exception:
            LOG.exception("[instance: %s] console failed", target.instance_uuid)
        finally:
            with self._lock:
                self._sessions.discard(session)
            LOG.info("[instance: %s] %s console is closed", target.instance_uuid, target.kind)


def _page(web: Mapping[str, pathlib.Path], request: Request) -> Response:
    """Answer a request for no WebSocket: a browser's, or a load balancer's health check."""
    if request.method == "OPTIONS":
        return _answer(200, "OK", b"", Allow=_ALLOWED)
    if request.method not in ("GET", "HEAD"):
        return _answer(405, "Method Not Allowed", b"Pages are read-only.\n", Allow=_ALLOWED)
    found = find(web, request.path) or _OWN.get(request.path.partition("?")[0])
    if found is None:
        answer = _answer(404, "Not Found", b"There is nothing here.\n")
    else:
        answer = _answer(200, "OK", found.data, **{"Content-Type": found.content_type})
    if request.method == "HEAD":
        answer.body = b""
    return answer


def _refusal(status: int, reason: str) -> Response:
    """Refuse a WebSocket, without a body: some clients take it for data of the console."""
    return _answer(status, reason, b"")


def _answer(status: int, reason: str, data: bytes, **more: str) -> Response:
    headers = Headers(
        {
            "Content-Type": _TEXT,
            "Content-Length": str(len(data)),
            "Connection": "close",
            "Referrer-Policy": "no-referrer",  # URLs of pages contain tokens
            **more,
        }
    )
    return Response(status, reason, headers, data)
