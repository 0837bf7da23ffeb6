"""Microversions of Placement: negotiates the one that a request uses, and shows it in the answer.

Inside the API a microversion is its minor number: 1.14 is 14.
"""

import datetime
import re
from typing import Any, Final

import falcon

from roost import exception
from roost.api import microversions

ROOT: Final = "/placement"
SERVICE: Final = "placement"
MINIMUM: Final = 0
MAXIMUM: Final = 39
CACHE_HEADERS: Final = 15
_FORM: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})", re.ASCII)


def name(minor: int) -> str:
    """Return the version as a string: 14 is 1.14."""
    return f"1.{minor}"


def negotiate(header: str | None) -> int:
    """Return the minor version that ``OpenStack-API-Version`` asks for; without it the minimum.

    :raises roost.exception.Invalid: when it is not a version
    :raises falcon.HTTPNotAcceptable: when it is not offered
    """
    asked = microversions.asked_of(header, SERVICE)
    if asked is None:
        return MINIMUM
    if asked.lower() == "latest":
        return MAXIMUM
    found = _FORM.fullmatch(asked)
    if found is None:
        raise exception.Invalid(f"invalid version string: {asked}")
    major, minor = int(found[1]), int(found[2])
    if major != 1 or minor > MAXIMUM:
        raise falcon.HTTPNotAcceptable(description=f"Unacceptable version header: {asked}")
    return minor


def is_below(path: str) -> bool:
    """Return whether a path is one of Placement's."""
    return path == ROOT or path.startswith(f"{ROOT}/")


class PlacementMicroversions:
    """Negotiates the microversion of a request for Placement; answers have it in a header."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        if not is_below(req.path):
            return
        req.context.version = MINIMUM
        resp.set_header("Vary", microversions.HEADER.lower())
        req.context.version = negotiate(req.get_header(microversions.HEADER))
        resp.set_header(microversions.HEADER, f"{SERVICE} {name(req.context.version)}")

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: Any, params: dict[str, str]
    ) -> None:
        """Refuse a request that reads and does not take JSON."""
        is_read = req.method in ("GET", "HEAD")
        if is_below(req.path) and is_read and not req.client_accepts(falcon.MEDIA_JSON):
            raise falcon.HTTPNotAcceptable(description=f"Only {falcon.MEDIA_JSON} is provided")

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, _resource: Any, succeeded: bool
    ) -> None:
        """Keep caches from storing an answer: since 1.15 clients expect these headers."""
        if succeeded and is_below(req.path) and req.context.version >= CACHE_HEADERS:
            resp.set_header("Cache-Control", "no-cache")
            resp.last_modified = datetime.datetime.now(datetime.UTC)
