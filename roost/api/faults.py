"""HTTP errors: the only module that knows the status and body of a failure."""

import json
import logging
from typing import Any, Final

import falcon

from roost import exception
from roost.api.placement import errors as placement_errors
from roost.api.placement import microversions as placement

LOG = logging.getLogger(__name__)

# The first match counts, so subclasses come before their bases.
STATUSES: Final[tuple[tuple[type[exception.RoostError], int], ...]] = (
    (exception.NotFound, 404),
    (exception.Conflict, 409),
    (exception.Invalid, 400),
    (exception.QuotaExceeded, 403),
    (exception.Forbidden, 403),
    (exception.Unauthenticated, 401),
    (exception.NoCapacity, 409),
    (exception.Timeout, 504),
    (exception.Silent, 504),
    (exception.Unavailable, 503),
    (exception.VersionTooOld, 501),
    (exception.Unsupported, 501),
)
FAULT: Final = "computeFault"
# The only key of the error's body, as OpenStack's clients expect it; any other status: FAULT.
NAMES: Final = {
    400: "badRequest",
    401: "unauthorized",
    403: "forbidden",
    404: "itemNotFound",
    405: "badMethod",
    409: "conflictingRequest",
    413: "overLimit",
    415: "badMediaType",
    429: "overLimit",
    501: "notImplemented",
    503: "serviceUnavailable",
    504: "gatewayTimeout",
}
MESSAGES: Final = {
    404: "The resource could not be found.",
    405: "The method is not allowed for this resource.",
    413: "The request body is too large.",
}
WAITING: Final = {429: 1, 503: 5, 504: 5}  # status -> seconds to wait before a retry
_UNKNOWN: Final = 500
_NOT_ALLOWED: Final = 405
_READING: Final = ("GET", "HEAD")
App = falcon.App[falcon.Request, falcon.Response]


def install(app: App) -> None:
    """Let ``app`` answer every failure, its own and Falcon's, in OpenStack's format."""
    app.add_error_handler(Exception, _accident)
    app.add_error_handler(falcon.HTTPError, _falcon_error)
    app.add_error_handler(exception.RoostError, _known_kind)


def body(status: int, message: str, **more: Any) -> dict[str, Any]:
    """Return the body of an error in OpenStack's format."""
    return {NAMES.get(status, FAULT): {"code": status, "message": message, **more}}


def as_bytes(status: int, message: str) -> bytes:
    """Return the body of an error as bytes of JSON."""
    return json.dumps(body(status, message)).encode()


def status_of(error: exception.RoostError) -> int:
    """Return the HTTP status of a failure; 500 for kinds that should not reach users."""
    return next((status for kind, status in STATUSES if isinstance(error, kind)), _UNKNOWN)


def _known_kind(
    req: falcon.Request, resp: falcon.Response, error: exception.RoostError, params: dict[str, Any]
) -> None:
    status = status_of(error)
    if status == _UNKNOWN:
        _accident(req, resp, error, params)
        return
    if isinstance(error, exception.Unsupported):
        LOG.info("%s %s is not supported: %s", req.method, req.path, error.message)
    elif status > _UNKNOWN:
        LOG.warning("%s %s answered %d: %s", req.method, req.path, status, error.message)
    resp.status = status
    resp.media = _body_for(req, status, _for_users(error, status))
    if status in WAITING:
        resp.set_header("Retry-After", str(WAITING[status]))
    if "challenge" in error.details:
        resp.set_header("WWW-Authenticate", error.details["challenge"])


def _for_users(error: exception.RoostError, status: int) -> str:
    """Return a message for users, without addresses of databases and buses."""
    if status > _UNKNOWN and not error.for_users:
        return "A part of the cloud cannot be reached now. Please try again later."
    return error.message or MESSAGES.get(status, error.code)


def _falcon_error(
    req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: dict[str, Any]
) -> None:
    status = error.status_code
    is_root = req.path in ("/", placement.ROOT)
    if status == _NOT_ALLOWED and not is_root and _is_no_member(req):
        status, error = 404, falcon.HTTPNotFound()
    resp.status = status
    message = error.description or MESSAGES.get(status, error.title or "Error")
    resp.media = _body_for(req, status, message)
    for name, value in dict(error.headers or {}).items():
        resp.set_header(name, value)


def _is_no_member(req: falcon.Request) -> bool:
    """Return whether a path names a member of a collection that no one can show.

    Its id is empty, or, as ``detail`` of a collection without one, a word for something else.
    """
    is_member = (req.uri_template or "").endswith("}")
    return req.env["PATH_INFO"].endswith("/") or (is_member and req.method in _READING)


def _accident(
    req: falcon.Request, resp: falcon.Response, error: Exception, _params: dict[str, Any]
) -> None:
    request_id = getattr(req.context, "request_id", "unknown")
    LOG.error("%s %s failed", req.method, req.path, exc_info=error)
    resp.status = _UNKNOWN
    message = f"Unexpected API error. The request's id is {request_id}."
    resp.media = _body_for(req, _UNKNOWN, message)


def _body_for(req: falcon.Request, status: int, message: str) -> dict[str, Any]:
    """Return the body of an error as the service that is asked has it."""
    if not placement.is_below(req.path):
        return body(status, message)
    return placement_errors.body(
        status, message, request_id=req.context.request_id, version=req.context.version
    )
