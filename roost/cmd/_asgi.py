"""A WSGI application as an ASGI one: nobody's slow network holds a thread.

A request's body is received before a thread is given to the request, in a bounded time, and one
address sends so many at once. An answer that comes piece by piece has a thread while a piece is
made, none while it is sent. A transfer that takes longer has a least pace (``Pace``), which
``_http.py`` holds eventlet's server to as well.
"""

import asyncio
import io
import logging
import sys
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent import futures
from typing import Any, Final, NamedTuple, TypeVar

from roost.api import admission
from roost.api.callers import ConcurrencyLimit, anonymous_caller

GRACE: Final = 30.0  # seconds that a transfer may stand still
SLOWEST: Final = 4096  # bytes a second that it must have on average


class Pace:
    """How long a transfer may stand still from now on.

    It starts with :data:`GRACE`. Waiting for the other side takes away from it, and a byte that
    moves gives back the time that it may take by :data:`SLOWEST`. Nobody has more than
    :data:`GRACE`: who was fast may not rest for long, and who sends a byte now and then has nothing
    left in the end.
    """

    def __init__(self) -> None:
        self.left = GRACE

    def waited(self, seconds: float) -> None:
        self.left -= seconds

    def moved(self, size: int) -> None:
        self.left = min(self.left + size / SLOWEST, GRACE)


LOG = logging.getLogger(__name__)

_Moved = TypeVar("_Moved")
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class PacedAnswer(NamedTuple):
    """What the application answered; ``pieces`` that are no list are made as they are sent."""

    status: int
    headers: list[tuple[str, str]]
    pieces: Iterable[bytes]


class Asgi:
    """An ASGI application that calls a WSGI one in threads of its own.

    :param threads: requests that it works on at once
    :param max_body: bytes of a body that are received before the application is called; of a longer
        one (an upload) the application reads the rest as it comes
    :param bodies: places for bodies that are received ahead, by address
    """

    def __init__(
        self, app: admission.Wsgi, *, threads: int, max_body: int, bodies: ConcurrencyLimit
    ) -> None:
        self._app = app
        self._max_body = max_body
        self._bodies = bodies
        self._pool = futures.ThreadPoolExecutor(threads, thread_name_prefix="http")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        body = Body(receive, asyncio.get_running_loop())
        environ = _environ(scope, body)
        refusal = await self._receive_ahead(body, environ)
        if refusal:
            answer = self._call(admission.refused(refusal), environ)
        else:
            answer = await self._in_thread(self._call, self._app, environ)
        await self._send(answer, receive, send)

    def close(self) -> None:
        """End the threads, once they have nothing to do."""
        self._pool.shutdown(wait=False)

    async def _receive_ahead(self, body: "Body", environ: admission.Environ) -> int:
        """Receive a body, unless it is too long; return the status of a refusal, 0 for none."""
        length = admission.expected(environ, self._max_body)
        if not length:
            return 0
        sender = anonymous_caller(environ)
        refusal = self._bodies.take(sender)
        if refusal:
            return refusal
        try:
            async with asyncio.timeout(admission.BODY_SECONDS):
                await body.receive_ahead(length)
        except TimeoutError:
            return 408
        except ConnectionError:
            return 400
        finally:
            self._bodies.give_back(sender)
        return 0

    @staticmethod
    def _call(app: admission.Wsgi, environ: admission.Environ) -> PacedAnswer:
        told: list[Any] = []
        pieces = app(environ, lambda status, headers, _error=None: told.extend((status, headers)))
        status, headers = told
        return PacedAnswer(int(status.split(" ", 1)[0]), headers, pieces)

    async def _send(self, answer: PacedAnswer, receive: Receive, send: Send) -> None:
        headers = [(name.lower().encode(), text.encode("latin-1")) for name, text in answer.headers]
        start = {"type": "http.response.start", "status": answer.status, "headers": headers}
        if isinstance(answer.pieces, list | tuple):
            await send(start)
            await send(_body(b"".join(answer.pieces)))
            return
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await send(start)
            await self._send_pieces(iter(answer.pieces), gone, send)
        finally:
            gone.cancel()
            await self._in_thread(admission.close, answer.pieces)

    async def _send_pieces(
        self, pieces: Iterator[bytes], gone: asyncio.Future[None], send: Send
    ) -> None:
        """Send one piece after the other, the next one when there is room for it on the way.

        Who takes them too slowly is sent no more: it has fewer bytes then than were announced.
        """
        pace = Pace()
        while not gone.done():
            piece = await self._in_thread(_gathered, pieces)
            try:
                await _in_time(pace, send(_body(piece, more=bool(piece))))
            except TimeoutError:
                LOG.info("a client took an answer too slowly; it is sent no more")
                return
            if not piece:
                return
            pace.moved(len(piece))

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)


class Body(io.RawIOBase):
    """What a request sends, as a file: what was received ahead, then what comes."""

    def __init__(self, receive: Receive, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._receive = receive
        self._loop = loop
        self._pace = Pace()
        self._received = b""
        self._ended = False

    async def receive_ahead(self, length: int) -> None:
        """Receive so many bytes, or all that there are."""
        pieces = []
        while length > 0 and not self._ended:
            pieces.append(await self._next())
            length -= len(pieces[-1])
        self._received = b"".join(pieces)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer as far as there is something; called in a thread of the application.

        :raises OSError: when it broke off, or comes too slowly
        """
        if not self._received and not self._ended:
            self._received = asyncio.run_coroutine_threadsafe(self._soon(), self._loop).result()
        taken = self._received[: len(buffer)]
        self._received = self._received[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)

    async def _soon(self) -> bytes:
        while not self._ended:
            if piece := await _in_time(self._pace, self._next()):
                self._pace.moved(len(piece))
                return piece
        return b""

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError("the body broke off")
        self._ended = not message.get("more_body", False)
        return bytes(message.get("body", b""))


def _environ(scope: Message, body: Body) -> admission.Environ:
    """Return a request as PEP 3333 has it."""
    server, port = scope["server"]
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": urllib.parse.unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "REMOTE_ADDR": scope["client"][0],
        "SERVER_NAME": server,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BufferedReader(body),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        _add_header(environ, name.decode("latin-1"), value.decode("latin-1"))
    return environ


def _add_header(environ: admission.Environ, name: str, value: str) -> None:
    """Add a header; one with an underscore could pass for another one, which a proxy took away."""
    if "_" in name:
        return
    key = name.upper().replace("-", "_")
    key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
    environ[key] = f"{environ[key]},{value}" if key in environ else value


def _body(data: bytes, *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _in_time(pace: Pace, moving: Awaitable[_Moved]) -> _Moved:
    """Return what is waited for.

    :raises TimeoutError: when that takes longer than the pace lets it
    """
    begun = time.monotonic()
    async with asyncio.timeout(pace.left):
        moved = await moving
    pace.waited(time.monotonic() - begun)
    return moved


def _gathered(pieces: Iterator[bytes]) -> bytes:
    """Return the next pieces in one, none at the end: to hand on each would cost more."""
    gathered, size = [], 0
    for piece in pieces:
        gathered.append(piece)
        size += len(piece)
        if size >= admission.PIECE:
            break
    return b"".join(gathered)
