"""The WSGI application: identifies the guest, finds the document, maps errors to HTTP."""

import logging
import uuid
from typing import Any, Final

import falcon

from roost import exception
from roost.context import RequestContext, set_current
from roost.metadata import documents
from roost.metadata.guests import Guests
from roost.metadata.identity import CallerIdentity

LOG = logging.getLogger(__name__)
MAX_PASSWORD: Final = 1020  # bytes; the limit of its readers
REQUEST_ID: Final = "x-openstack-request-id"
_READS: Final = ("GET", "HEAD")
_ASKED: Final = ("GET", "HEAD", "OPTIONS", "POST")
_HEALTH: Final = "healthcheck"
_JSON: Final = ".json"
_STATUSES: Final[tuple[tuple[type[exception.RoostError], int], ...]] = (
    (exception.NotFound, 404),
    (exception.Conflict, 409),
    (exception.Invalid, 400),
    (exception.Forbidden, 403),
    (exception.Unavailable, 503),
)
_HIDDEN: Final = {
    404: "There is nothing here.",
    500: "An unexpected failure.",
    503: "This cannot be read now. Please try again later.",
}
_WARNED: Final = (403, 503)  # 404 is too common to log
_AGAIN: Final = "5"  # seconds; Retry-After
App = falcon.App[falcon.Request, falcon.Response]


def make_app(guests: Guests, identity: CallerIdentity) -> App:
    """Return the application. Does no I/O."""
    app: App = falcon.App(middleware=[_Record()])
    app.add_error_handler(Exception, _accident)
    app.add_error_handler(falcon.HTTPError, _falcon_error)
    app.add_error_handler(exception.RoostError, _known_kind)
    app.add_sink(_Dispatcher(guests, identity).serve, "/")
    return app


class _Dispatcher:
    """Routes all requests."""

    def __init__(self, guests: Guests, identity: CallerIdentity) -> None:
        self._guests = guests
        self._identity = identity

    def serve(self, req: falcon.Request, resp: falcon.Response, **_: str) -> None:
        path = req.path.strip("/")
        if req.method == "OPTIONS":  # from load balancers
            resp.set_header("Allow", ", ".join(_ASKED))
            return
        if path in ("", _HEALTH) and req.method in _READS:
            _answer(resp, path, b"OK" if path else documents.versions())
            return
        caller = self._identity.of(req.env)
        req.context.caller = caller.instance_uuid
        if req.method in _READS:
            _answer(resp, path, self._guests.documents(caller).find(path))
        elif documents.takes_password(path) and req.method == "POST":
            self._guests.save_password(caller, _password(req))
            resp.status = falcon.HTTP_200
        else:
            raise falcon.HTTPMethodNotAllowed(_READS)


def _answer(resp: falcon.Response, path: str, found: bytes | None) -> None:
    if found is None:
        raise exception.NotFound(f"no document {path!r}")
    resp.data = found
    kind = falcon.MEDIA_JSON if path.endswith(_JSON) else "text/plain; charset=utf-8"
    resp.content_type = kind
    resp.set_header("Cache-Control", "no-store")


def _password(req: falcon.Request) -> str:
    data = req.bounded_stream.read(MAX_PASSWORD + 1)
    if len(data) > MAX_PASSWORD:
        raise exception.Invalid("Request is too large.")
    if not data or not data.isascii():
        raise exception.Invalid("A password is encrypted and in base64.")
    return data.decode("ascii")


class _Record:
    """Gives each request an id, and logs its outcome."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        req.context.request_id = f"req-{uuid.uuid4()}"
        req.context.caller = None
        resp.set_header(REQUEST_ID, req.context.request_id)
        set_current(RequestContext(request_id=req.context.request_id))

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, _resource: object, _ok: bool
    ) -> None:
        LOG.info(
            "[instance: %s] %s %r from %s: %s",
            req.context.caller,
            req.method,
            req.path[:255],
            req.remote_addr,
            resp.status_code,
        )
        set_current(None)


def _known_kind(
    req: falcon.Request, resp: falcon.Response, error: exception.RoostError, _params: Any
) -> None:
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), None)
    if status is None:
        _accident(req, resp, error, _params)
        return
    level = logging.WARNING if status in _WARNED else logging.DEBUG
    LOG.log(level, "%s %s", error.message, error.details or "")
    _refuse(resp, status, error.message)


def _falcon_error(
    _req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: Any
) -> None:
    resp.set_headers(error.headers or {})
    _refuse(resp, error.status_code, error.title or "")


def _accident(req: falcon.Request, resp: falcon.Response, error: Exception, _params: Any) -> None:
    LOG.error("%s %s failed", req.method, req.path[:255], exc_info=error)
    _refuse(resp, 500, "")


def _refuse(resp: falcon.Response, status: int, message: str) -> None:
    """Set an error response, without details that the guest may not know."""
    resp.status = status
    resp.content_type = "text/plain; charset=utf-8"
    resp.data = f"{_HIDDEN.get(status, message)}\n".encode()
    if status == 503:  # noqa: PLR2004 - as in the table
        resp.set_header("Retry-After", _AGAIN)
