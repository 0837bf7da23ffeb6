"""The metadata proxy: identifies guests by network and address, and signs requests for them.

Requests to 169.254.169.254 arrive in the namespace of a network, where this process listens. It
sends them to roost-metadata outside the namespace and returns the responses. ``firewall.py``
prevents guests from using each other's addresses. No headers of guests are forwarded.
"""

import contextlib
import ctypes
import http
import logging
import os
import pathlib
import threading
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import requests
from cheroot import wsgi

from roost.compute.network.bridge.ports import BridgePort
from roost.compute.network.bridge.segment import METADATA, Segment, SegmentNames
from roost.compute.network.bridge.settings import MetadataService
from roost.compute.network.bridge.system import System
from roost.guestdata import signature

LOG = logging.getLogger(__name__)
PORT: Final = 80
_THREADS: Final = 8  # per network
_IDLE: Final = 10  # seconds after which an idle connection is closed
_LONGEST_BODY: Final = 64 * 1024
_LONGEST_HEADERS: Final = 16 * 1024
_PATIENCE: Final = (5.0, 30.0)  # timeouts in seconds for connecting and for the response
_HANDED_ON: Final = ("Content-Type", "Cache-Control", "Retry-After", "X-OpenStack-Request-ID")
_HANDED_IN: Final = ("GET", "HEAD", "POST")
_CLONE_NEWNET: Final = 0x40000000

StartResponse = Callable[[str, list[tuple[str, str]]], object]


class Metadata:
    """Serves guests of all networks of this host, if a metadata service is configured."""

    def __init__(self, system: System, service: MetadataService | None) -> None:
        self._system = system
        self._service = service
        self._serving: dict[str, _Serving] = {}

    def ensure(self, segment: Segment) -> None:
        """Serve the ports of a network in its namespace.

        :raises OSError: when that fails
        """
        if self._service is None:
            return
        names = segment.names
        inode = self._system.namespace(names.namespace)
        serving = self._serving.get(names.network_id)
        if serving is not None and serving.inode != inode:  # the namespace was recreated
            self.remove(names)
            serving = None
        if serving is None:
            serving = self._serving[names.network_id] = _Serving(names, inode, self._service)
        serving.app.ports = {port.ip: port for port in segment.ports}

    def remove(self, names: SegmentNames) -> None:
        """Stop serving a network; may be repeated."""
        serving = self._serving.pop(names.network_id, None)
        if serving is not None:
            serving.stop()


class _Serving:
    """The server of one network."""

    def __init__(self, names: SegmentNames, inode: int | None, service: MetadataService) -> None:
        self.inode = inode
        self.app = Proxy(service)
        self._server = _Server((METADATA, PORT), self.app, numthreads=_THREADS, timeout=_IDLE)
        self._server.namespace = names.namespace
        self._server.shutdown_timeout = 1
        self._server.max_request_header_size = _LONGEST_HEADERS
        self._server.max_request_body_size = _LONGEST_BODY
        self._server.prepare()
        self._thread = threading.Thread(target=self._server.serve, name="metadata", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.stop()
        self._thread.join(_IDLE)


class _Server(wsgi.Server):
    """Cheroot, with its socket in another namespace and its errors in our log."""

    namespace = ""

    def bind(self, family: int, type: int, proto: int = 0) -> Any:  # noqa: A002 - cheroot's name
        with inside(self.namespace):
            return super().bind(family, type, proto)

    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:
        LOG.log(level, "%s", msg, exc_info=traceback)


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Move this thread into a network namespace during the block: its sockets stay there."""
    own = pathlib.Path("/proc/thread-self/ns/net")
    with own.open("rb") as back, pathlib.Path("/run/netns", namespace).open("rb") as there:
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(back.fileno())


def _enter(descriptor: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(descriptor, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Proxy:
    """The WSGI application of one network: serves the guests of ``ports``, which are by address."""

    def __init__(self, service: MetadataService) -> None:
        self._service = service
        self.ports: Mapping[str, BridgePort] = {}

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        port = self.ports.get(str(environ.get("REMOTE_ADDR", "")))
        if port is None:
            return _refuse(start_response, http.HTTPStatus.NOT_FOUND)
        if environ["REQUEST_METHOD"] not in _HANDED_IN:
            return _refuse(start_response, http.HTTPStatus.METHOD_NOT_ALLOWED)
        try:
            answer = self._ask(port, environ)
        except requests.RequestException as error:
            LOG.warning("roost-metadata does not answer a guest: %s", error)
            return _refuse(start_response, http.HTTPStatus.SERVICE_UNAVAILABLE)
        start_response(_line(answer.status_code), _handed_on(answer))
        return [answer.content]

    def _ask(self, port: BridgePort, environ: dict[str, Any]) -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False  # ignore the host's proxy settings
            return session.request(
                environ["REQUEST_METHOD"],
                f"{self._service.url}{_path(environ)}",
                data=_body(environ),
                headers=signature.headers(
                    self._service.secret,
                    instance_uuid=port.instance_uuid,
                    project_id=port.project_id,
                ),
                timeout=_PATIENCE,
                allow_redirects=False,
            )


def _handed_on(answer: requests.Response) -> list[tuple[str, str]]:
    length = [] if answer.request.method == "HEAD" else [_length(answer.content)]
    return [(name, answer.headers[name]) for name in _HANDED_ON if name in answer.headers] + length


def _length(body: bytes) -> tuple[str, str]:
    return "Content-Length", str(len(body))


def _path(environ: dict[str, Any]) -> str:
    """Return the path as the guest has sent it; WSGI has decoded its percent signs."""
    path = urllib.parse.quote(environ.get("PATH_INFO", "/").encode("latin-1"))
    return "/" + path.lstrip("/")


def _body(environ: dict[str, Any]) -> bytes:
    """Return the body of a guest's request; the server has checked its length."""
    found: bytes = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    return found


def _refuse(start_response: StartResponse, status: http.HTTPStatus) -> Iterable[bytes]:
    again = [("Retry-After", "5")] if status is http.HTTPStatus.SERVICE_UNAVAILABLE else []
    body = f"{status.phrase}.\n".encode()
    kind = ("Content-Type", "text/plain; charset=utf-8")
    start_response(_line(status), [kind, _length(body), *again])
    return [body]


def _line(status: int) -> str:
    return f"{int(status)} {http.HTTPStatus(status).phrase}"
