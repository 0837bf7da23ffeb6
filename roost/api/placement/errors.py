"""The form of Placement's errors, and what it answers to requests that write."""

import http
from typing import Any, Final

from roost.api.placement import microversions

CODES: Final = 23
_NO_CODE: Final = "placement.undefined_code"
_READ_ONLY: Final = (
    "This is a view of Roost's own hosts and claims, which cannot be changed here. Hosts report"
    " their inventories and traits (options of roost-compute, and its provider configuration"
    " files); aggregates are those of Compute; and the schedulers make and delete claims as servers"
    " are created, moved and deleted."
)
# Paths that have no GET: they are answered with 405 as others are, rather than 404.
WRITE_ONLY: Final = (f"{microversions.ROOT}/allocations", f"{microversions.ROOT}/reshaper")


def body(status: int, message: str, *, request_id: str, version: int) -> dict[str, Any]:
    """Return the body of an error.

    :param version: the request's minor version of Placement
    """
    code = http.HTTPStatus(status)
    error: dict[str, Any] = {
        "status": status,
        "title": code.phrase,
        "detail": _READ_ONLY if code is http.HTTPStatus.METHOD_NOT_ALLOWED else message,
        "request_id": request_id,
    }
    if version >= CODES:
        error["code"] = _NO_CODE
    if code is http.HTTPStatus.NOT_ACCEPTABLE:  # clients choose another version by these
        error["min_version"] = microversions.name(microversions.MINIMUM)
        error["max_version"] = microversions.name(microversions.MAXIMUM)
    return {"errors": [error]}
