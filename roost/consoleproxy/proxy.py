"""The HTTP side of the proxy: who comes with which token, from which site; and the viewers' files.

A token is in a request's query or cookie. A page of another site than those that options name opens
no console. Files of noVNC and spice-html5 come from the folders that options name, and no others.

The library serves a connection in a thread of its own, however many come: here they are counted
first. It writes requests into its log, tokens and all: that log is closed.
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

    Clients have it in the query, there in the path that noVNC is told, or in a cookie.

    :param target: path and query
    :param cookie: the header of that name
    """
    query = _query(target)
    if _NAME in query:
        return query[_NAME]
    inner = _query(query.get("path", ""))
    return inner.get(_NAME) or _in_cookie(cookie)


def is_welcome(origin: str | None, *, host: str, allowed: Collection[str]) -> bool:
    """Tell whether a page of that site may open consoles.

    Browsers say where a page is from, so that no other site types at consoles in its reader's
    name. Who says nothing is no browser.

    :param host: the header of that name: by it the proxy's own pages are known
    :param allowed: further sites
    """
    if origin is None:
        return True
    site = _site(origin)
    if site is None:
        return False
    return site in {_site(each) for each in allowed} or site == _site(f"{site[0]}://{host}")


def _site(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port; None: it is no site."""
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


# Browsers run no module of another type, and systems do not agree on it.
_TYPES: Final = {".js": "text/javascript", ".mjs": "text/javascript", ".json": "application/json"}
_OTHER: Final = "application/octet-stream"
_TEXT: Final = "text/plain; charset=utf-8"
_ALLOWED: Final = "GET, HEAD, OPTIONS"


@dataclasses.dataclass(frozen=True)
class StaticFile:
    content_type: str
    data: bytes


def find(folders: Mapping[str, pathlib.Path], target: str) -> StaticFile | None:
    """Return the file that a request asks for; None: there is none.

    :param folders: by the first part of paths that lead there; the empty one has all else
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
    return StaticFile(_type(path), path.read_bytes()) if path.is_file() else None


def _type(path: pathlib.Path) -> str:
    return _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or _OTHER


_ALIVE: Final = StaticFile(_TEXT, b"OK\n")
_OWN: Final = {"/": _ALIVE, "/healthcheck": _ALIVE}  # where the folders have nothing there
LOG = logging.getLogger(__name__)
_LIBRARY: Final = logging.getLogger(f"{__name__}.library")
_LIBRARY.setLevel(logging.CRITICAL + 1)
_OPENING: Final = 15.0  # seconds that a request may take to come
_PAUSE: Final = 0.1  # seconds after an accept() that failed
_CLOSING: Final = 2.0  # seconds that a browser has to say good-bye
_LONGEST: Final = 1 << 20  # bytes of one message of a browser
_BACKLOG: Final = 128
_BINARY: Final = Subprotocol("binary")  # what older clients call their way to speak
_FAILED: Final = 1011  # codes of RFC 6455, 7.4.1
_SOON: Final = 5.0  # seconds before a token expires in which nobody asks whether it is gone
Receive = Callable[[socket.socket, Any], None]


@dataclasses.dataclass(frozen=True)
class ProxySettings:
    """How to serve.

    :param web: folders of the pages, as in :func:`roost.consoleproxy.proxy.find`
    :param idle_seconds: that end a connection in which nobody says anything
    :param ping_seconds: between two signs of life of a browser, and that each may take: who gives
        none is gone, and no network has told us
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
    """A connection, and where its token leads once that is known."""

    token: str = ""
    place: ConsoleTarget | None = None


class ConsoleProxy:
    """A server for ``cmd/``. ``port`` 0 lets the system choose; then it is the port served."""

    def __init__(self, settings: ProxySettings, tokens: Tokens) -> None:
        self._settings = settings
        self._tokens = tokens
        self.host, self.port = settings.host, settings.port
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._callers: set[threading.Thread] = set()
        self._visits: set[ConsoleSession] = set()
        self._listener: socket.socket | None = None
        self._serving: threading.Thread | None = None

    @property
    def place(self) -> str:
        return f"port {self.port} of {self.host}"

    def start(self) -> None:
        """Serve.

        :raises OSError: when the port is taken
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listener = socket.create_server((self.host, self.port), family=family, backlog=_BACKLOG)
        self.port = listener.getsockname()[1]
        library = serve(
            self._lead_on,
            sock=listener,
            ssl=self._settings.tls,
            process_request=self._judge,
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
        """Let nobody in any more, and end what goes on: a console may be open for days."""
        self._stopping.set()
        if self._listener is not None:
            with contextlib.suppress(OSError):  # else who waits in accept() would not be woken
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        for visit in self._open():
            visit.end()

    def wait(self) -> None:
        if self._serving is not None:
            self._serving.join()
        with self._lock:
            callers = list(self._callers)
        for caller in callers:
            caller.join()

    def end_revoked(self) -> None:
        """End visits whose token was taken away, and with the option those whose has expired.

        Tokens that have expired go, too; who came in time stays: their visit ends with the guest.

        :raises roost.exception.Unavailable: when the database is away
        """
        now, visits = boot_clock(), self._open()
        lasting = {each.place.digest for each in visits if each.place.until - now > _SOON}
        gone = self._tokens.gone(lasting)
        for visit in visits:
            expired = self._settings.ends_with_token and visit.place.until <= now
            if expired or visit.place.digest in gone:
                LOG.info("instance %s: its console is closed", visit.place.instance_uuid)
                visit.end()

    def _open(self) -> list[ConsoleSession]:
        with self._lock:
            return list(self._visits)

    def _serve(self, listener: socket.socket, receive: Receive) -> None:
        """Let so many in at once; the others are hung up on."""
        while True:
            try:
                connection, address = listener.accept()
            except OSError:
                if self._stopping.wait(_PAUSE):
                    return
                continue  # the caller has gone again, or the process has too many files open
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

    def _judge(self, caller: ServerConnection, request: Request) -> Response | None:
        """Answer a request, or None: it may become a WebSocket."""
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return _page(self._settings.web, request)
        origin, host = request.headers.get("Origin"), request.headers.get("Host", "")
        if not is_welcome(origin, host=host, allowed=self._settings.origins):
            LOG.warning("a page of %r may not open consoles", origin)
            return _refusal(403, "Pages of this origin may not open consoles")
        assert isinstance(caller, _Caller)
        return self._recognize(caller, request)

    def _recognize(self, caller: _Caller, request: Request) -> Response | None:
        caller.token = token_in(request.path, "; ".join(request.headers.get_all("Cookie")))
        try:
            caller.place = self._tokens.find(caller.token)
        except exception.Unavailable as error:
            LOG.warning("nobody comes to consoles now: %s", error.message)
            return _refusal(503, "Please try again later")
        except Exception:
            LOG.exception("it could not be found out where a token leads")
            return _refusal(500, "An unexpected failure")
        if caller.place is None:
            LOG.info("%s came without a token that opens a console", caller.remote_address[0])
            return _refusal(403, "The token is unknown, or has expired")
        return None

    def _lead_on(self, caller: ServerConnection) -> None:
        assert isinstance(caller, _Caller)
        place = caller.place
        assert place is not None
        try:
            console = sessions.enter(place, caller.token)
        except exception.Unavailable as error:
            LOG.warning("instance %s: %s", place.instance_uuid, error.message)
            caller.close(_FAILED, "The console cannot be reached.")
            return
        self._stay(ConsoleSession(place, caller, console, idle=self._settings.idle_seconds))

    def _stay(self, visit: ConsoleSession) -> None:
        place = visit.place
        with self._lock:
            self._visits.add(visit)
            if self._stopping.is_set():
                visit.end()
        LOG.info("instance %s: its %s console is open", place.instance_uuid, place.kind)
        try:
            visit.last()
        except Exception:
            LOG.exception("instance %s: its console failed", place.instance_uuid)
        finally:
            with self._lock:
                self._visits.discard(visit)
            LOG.info("instance %s: its %s console was left", place.instance_uuid, place.kind)


def _page(web: Mapping[str, pathlib.Path], request: Request) -> Response:
    """Answer who wants no WebSocket: a browser, or a balancer that asks whether we live."""
    if request.method == "OPTIONS":
        return _answer(200, "OK", b"", Allow=_ALLOWED)
    if request.method not in ("GET", "HEAD"):
        return _answer(405, "Method Not Allowed", b"Pages are read.\n", Allow=_ALLOWED)
    found = find(web, request.path) or _OWN.get(request.path.partition("?")[0])
    if found is None:
        answer = _answer(404, "Not Found", b"There is nothing here.\n")
    else:
        answer = _answer(200, "OK", found.data, **{"Content-Type": found.content_type})
    if request.method == "HEAD":
        answer.body = b""
    return answer


def _refusal(status: int, reason: str) -> Response:
    """Answer who wanted a WebSocket: some take whatever follows for what the console says."""
    return _answer(status, reason, b"")


def _answer(status: int, reason: str, data: bytes, **more: str) -> Response:
    headers = Headers(
        {
            "Content-Type": _TEXT,
            "Content-Length": str(len(data)),
            "Connection": "close",
            "Referrer-Policy": "no-referrer",  # addresses of pages have tokens in them
            **more,
        }
    )
    return Response(status, reason, headers, data)
