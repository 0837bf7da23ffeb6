"""Middleware that each request passes before it is routed: ids, microversion, authentication.

:class:`NoAuth` accepts every caller; the other authentication is ``keystone_auth.py``.
"""

import re
import uuid
from collections.abc import Mapping
from typing import Any, Final, Protocol

import falcon

from roost import exception
from roost.api import microversions
from roost.context import RequestContext, set_current

_REQUEST_ID: Final = re.compile(r"req-[0-9a-fA-F-]{36}", re.ASCII)
_UNSAFE: Final = re.compile(r"[^\x20-\x7e]")
_SLASHES: Final = re.compile("//+")
COMPUTE: Final = "/v2.1"
LEGACY: Final = "/v2"
TOKEN: Final = "X-Auth-Token"  # noqa: S105 - the name of a header
ANONYMOUS: Final = "notused"
REQUEST_ID_HEADERS: Final = ("x-openstack-request-id", "x-compute-request-id")


class RequestIds:
    """Gives each request an id, keeps the global id that a calling service gave it, and logs both.

    The lines name the user, too, as soon as the user is authenticated and a route is found.
    """

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        req.context.request_id = f"req-{uuid.uuid4()}"
        given = req.get_header("X-OpenStack-Request-ID") or ""
        req.context.global_request_id = given if _REQUEST_ID.fullmatch(given) else None
        for header in REQUEST_ID_HEADERS:
            resp.set_header(header, req.context.request_id)
        ids = req.context.request_id, req.context.global_request_id
        set_current(RequestContext(request_id=ids[0], global_request_id=ids[1]))

    def process_resource(self, req: falcon.Request, *_: Any) -> None:
        set_current(req.context.caller)

    def process_response(self, *_: Any) -> None:
        set_current(None)


class Slashes:
    """Merges consecutive slashes: endpoints often end with one too many."""

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        if "//" in req.env["PATH_INFO"]:
            req.path = _SLASHES.sub("/", req.path).rstrip("/") or "/"


class LegacyPaths:
    """Serves ``/v2`` as 2.1, without microversions; unknown fields of a body are ignored.

    The document of v2.0 itself is a route of its own.
    """

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        req.context.legacy = req.path.startswith(LEGACY + "/")
        if req.context.legacy:
            req.path = COMPUTE + req.path.removeprefix(LEGACY)


class Microversions:
    """Negotiates the microversion of a request for Compute; every answer has it in a header."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        req.context.version = microversions.MINIMUM
        if req.context.legacy:
            return
        if req.path != COMPUTE and not req.path.startswith(COMPUTE + "/"):
            return
        resp.set_header("Vary", f"{microversions.HEADER}, {microversions.LEGACY_HEADER}")
        try:
            req.context.version = microversions.negotiate(
                req.get_header(microversions.HEADER), req.get_header(microversions.LEGACY_HEADER)
            )
        except microversions.Malformed as error:
            raise exception.Invalid(str(error)) from error
        except microversions.NotOffered as error:
            raise falcon.HTTPNotAcceptable(description=str(error)) from error
        version = microversions.name(req.context.version)
        resp.set_header(microversions.HEADER, f"{microversions.SERVICE} {version}")
        resp.set_header(microversions.LEGACY_HEADER, version)


class Authentication(Protocol):
    """Identifies callers; it is an ``admission.CallerLookup``, too."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Put a :class:`RequestContext` into ``req.context.caller``, or raise an error."""

    def caller(self, environ: Mapping[str, Any]) -> str | None:
        """Return the caller whose share of the API's slots a request uses."""

    def identify(self, environ: dict[str, Any]) -> str | None:
        """Identify the caller of a request."""


class NoAuth:
    """Accepts every caller: ``X-Auth-Token: user:project`` names user and project.

    The user ``admin`` and users of the project ``admin`` are administrators; so are callers without
    a token, or with the one that keystoneauth's plug-in ``none`` sends. A token without a colon is
    the name of both user and project.
    """

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        user, project = _who(req.get_header(TOKEN))
        is_admin = "admin" in (user, project)
        req.context.caller = RequestContext(
            user_id=user,
            project_id=project,
            is_admin=is_admin,
            roles=["admin", "member", "reader"] if is_admin else ["member", "reader"],
            request_id=req.context.request_id,
            global_request_id=req.context.global_request_id,
        )

    def caller(self, environ: Mapping[str, Any]) -> str:
        """Return the project whose share of the API's slots a request uses."""
        return f"project {_who(environ.get('HTTP_X_AUTH_TOKEN'))[1]}"

    identify = caller


def _who(token: str | None) -> tuple[str, str]:
    if token == ANONYMOUS:
        token = None
    user, _, project = _UNSAFE.sub("", token or "").strip()[:255].partition(":")
    user = user or "admin"
    return user, project or user
