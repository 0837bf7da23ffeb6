"""The OpenAPI document, ``/openapi.json``: the table of routes, for generators and fuzzers.

The document of all microversions has the forms of a body side by side (``anyOf``) where they
differ, each with its range of versions. The document of one microversion has one form of each and
nothing from other versions, for programs that send requests. Placement, which has microversions and
errors of its own, is left out.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from roost.api import faults, microversions, service_catalog
from roost.api.answers import ANSWERS
from roost.api.dependencies import Dependencies
from roost.api.middleware import COMPUTE, TOKEN
from roost.api.placement import microversions as placement
from roost.api.policy import ANYBODY, Rule
from roost.api.request import Answer, Call
from roost.api.route import DATA, JSON, Route, row
from roost.api.validation import Document, Schema, always, query

OPENAPI_POLICY = Rule("roost:openapi", ANYBODY, "Read the description of the API, as tools do.")

_QUERY: dict[str, Any] = {
    "microversion": {"type": "string", "pattern": r"^(2\.[1-9][0-9]{0,3}|latest)$"}
}
SHOW_QUERY: Final = always(query(_QUERY, strict=True))


VERSION: Final = "3.1.0"
RANGE: Final = "x-openstack"  # the key of a range of microversions
_DATA: Final = {"type": "string", "format": "binary"}
_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_BODILESS: Final = (204, 304)
_WRITES: Final = ("POST", "PUT", "PATCH", "DELETE")
# Errors that any request may get, and then those of some requests only.
_ALWAYS: Final = {
    400: "The request is invalid: a value is missing, malformed or contradictory.",
    429: "This project has too much under way; try again after the seconds in Retry-After.",
    500: "A fault of the cloud; the message has the request's id and nothing else.",
    501: "A part of the cloud is too old for this request.",
    503: "A part of the cloud is unavailable or overloaded; try again as Retry-After says.",
    504: "A part of the cloud did not answer in time; whether it acted is not known.",
}
_CALLER: Final = {
    401: "The caller is not authenticated.",
    403: "The caller may not do this, or the quota is used up.",
}
_VERSIONED: Final = {406: "The microversion is not offered."}
_PARTLY: Final = 207  # its body names resources, some of which may not exist
_NAMED: Final = {404: "The resource does not exist, or not for this caller or microversion."}
_NAME_IN_BODY: Final = frozenset(  # a resource that may not exist
    {"POST /network/v2.0/ports", "POST /network/v2.0/security-group-rules"}
)
_WRITING: Final = {409: "The resource is not in the state that the request expects."}
# It changes nothing, but the server must be in a state to answer.
_OF_GUESTS: Final = frozenset({"GET /v2.1/servers/{server_id}/diagnostics"})
_SENDING: Final = {
    408: "The body did not come in time.",
    413: "The body has more bytes than it may have.",
    415: "The body is of another content type.",
}
_DESCRIPTIONS: Final = {
    **_ALWAYS,
    **_CALLER,
    **_VERSIONED,
    **_NAMED,
    **_WRITING,
    **_SENDING,
}


def document(routes: Iterable[Route], *, minor: int | None = None) -> dict[str, Any]:
    """Return the document of all microversions, or of one."""
    paths: dict[str, dict[str, Any]] = {}
    routes = [route for route in routes if not placement.is_below(route.path)]
    for (path, method), rows in _by_operation(routes, minor).items():
        paths.setdefault(path, {})[method.lower()] = _operation(rows, minor)
    return {
        "openapi": VERSION,
        "info": {
            "title": "Roost",
            "description": "OpenStack Compute v2.1, and what its clients need of Image and"
            " Network.",
            "version": microversions.name(minor or microversions.MAXIMUM),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in sorted({row.noun.__name__ for row in routes})],
        "paths": paths,
        "components": _components(),
    }


def _by_operation(routes: Iterable[Route], minor: int | None) -> dict[tuple[str, str], list[Route]]:
    found: dict[tuple[str, str], list[Route]] = {}
    for route in routes:
        if minor is None or route.since <= minor <= route.until:
            found.setdefault((route.path, route.method), []).append(route)
    return found


def _operation(rows: list[Route], minor: int | None) -> dict[str, Any]:
    route = rows[-1]
    public = _is_public(route)
    operation: dict[str, Any] = {
        "operationId": _name(route),
        "tags": [route.noun.__name__],
        "summary": route.policy.description.rstrip("."),
        "parameters": [*_path(route), *_query(rows, minor), *_version(route, minor)],
        "responses": {
            **{status: answer for row in rows for status, answer in _successes(row).items()},
            **_refusals(rows, public=public),
        },
        "security": [] if public else [{"token": []}],
        "x-roost-policy": {"rule": route.policy, "default": route.policy.check},
    }
    first, last = min(row.since for row in rows), max(row.until for row in rows)
    if (first, last) != (microversions.MINIMUM, microversions.MAXIMUM):
        operation[RANGE] = _range(first, last)
    sent = _sent(rows, minor)
    if sent:
        operation["requestBody"] = {"required": True, "content": sent}
    return operation


def _sent(rows: list[Route], minor: int | None) -> dict[str, Any]:
    """Return the accepted content types, each with its schema."""
    if DATA in rows[-1].takes:
        return {DATA: {"schema": _DATA}}
    bodies = list(_bodies(rows, minor))
    schema = bodies[0] if len(bodies) == 1 else {"anyOf": bodies}
    return {kind: {"schema": schema} for kind in rows[-1].takes} if bodies else {}


def _is_public(route: Route) -> bool:
    """Return whether no token is needed; below /v2.1 the check ANYBODY still needs one."""
    below = route.path.startswith(f"{COMPUTE}/")
    return route.policy.check == ANYBODY and not below


def _name(route: Route) -> str:
    """Return a unique name, from method and path."""
    segments = re.findall(r"\w+", route.path.replace("v2.1", ""))
    return "_".join([route.method.lower(), *(segments or ["root"])])


def _path(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _PARAMETER.findall(route.path)
    ]


def _query(rows: list[Route], minor: int | None) -> Iterator[dict[str, Any]]:
    """Yield the parameters of all forms; each may be given more than once."""
    seen: dict[str, tuple[int, int, Any]] = {}
    for first, last, form in _forms(rows, "query", minor):
        for name, values in form["properties"].items():
            seen[name] = (min(first, seen.get(name, (first,))[0]), last, values)
    for name, (first, last, values) in seen.items():
        query = {"name": name, "in": "query", "style": "form", "explode": True, "schema": values}
        yield query | _unless_always(first, last, minor)


def _version(route: Route, minor: int | None) -> list[dict[str, Any]]:
    """Return the microversion header; the document of one microversion requires exactly that."""
    if not route.path.startswith(COMPUTE):
        return []
    if minor is None:
        return [{"$ref": "#/components/parameters/microversion"}]
    asked = f"{microversions.SERVICE} {microversions.name(minor)}"
    schema = {"type": "string", "enum": [asked]}
    return [{"name": microversions.HEADER, "in": "header", "required": True, "schema": schema}]


def _bodies(rows: list[Route], minor: int | None) -> Iterator[Document]:
    for first, last, form in _forms(rows, "body", minor):
        yield {**form, **_unless_always(first, last, minor)}


def _forms(rows: list[Route], what: str, minor: int | None) -> Iterator[tuple[int, int, Document]]:
    """Yield (since, until, form) of the bodies or queries of one operation, oldest first."""
    for route in rows:
        schema: Schema | None = getattr(route, what)
        if schema is None:
            continue
        if minor is not None:
            yield minor, minor, schema.document(minor)
            continue
        begins = sorted(schema.documents)
        for first, following in zip(begins, [*begins[1:], route.until + 1], strict=True):
            since, until = max(first, route.since), min(following - 1, route.until)
            if since <= until:
                yield since, until, schema.documents[first]


def _unless_always(first: int, last: int, minor: int | None) -> dict[str, Any]:
    if minor is not None or (first, last) == (microversions.MINIMUM, microversions.MAXIMUM):
        return {}
    return {RANGE: _range(first, last)}


def _range(first: int, last: int) -> dict[str, str]:
    return {"min-version": microversions.name(first), "max-version": microversions.name(last)}


def _successes(route: Route) -> dict[str, Any]:
    """Return the answers by status; the key of one with the status ``also`` has that in it."""
    name = route.handler.__qualname__
    answers = {str(route.status): _success(route.status, ANSWERS.get(name))}
    if route.gives == DATA:
        answers[str(route.status)]["content"] = {DATA: {"schema": _DATA}}
    if route.also is not None:
        answers[str(route.also)] = _success(route.also, ANSWERS.get(f"{name} {route.also}"))
    return answers


def _success(status: int, shown: Document | None) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "Done." if status != 202 else "Accepted."}  # noqa: PLR2004
    if shown is not None and status not in _BODILESS:
        answer["content"] = {JSON: {"schema": shown}}
    return answer


def _refusals(rows: list[Route], *, public: bool) -> dict[str, Any]:
    route = rows[-1]
    first, last = min(row.since for row in rows), max(row.until for row in rows)
    limited = (first, last) != (microversions.MINIMUM, microversions.MAXIMUM)
    names = bool(_PARAMETER.search(route.path)) or route.also == _PARTLY
    operation = f"{route.method} {route.path}"
    names = names or operation in _NAME_IN_BODY
    kinds: list[tuple[bool, Mapping[int, str]]] = [
        (True, _ALWAYS),
        (not public, _CALLER),
        (route.path.startswith(COMPUTE), _VERSIONED),
        (names or limited, _NAMED),
        (route.method in _WRITES or operation in _OF_GUESTS, _WRITING),
        (route.body is not None or DATA in route.takes, _SENDING),
    ]
    statuses = sorted(status for holds, kind in kinds if holds for status in kind)
    return {str(status): {"$ref": f"#/components/responses/{status}"} for status in statuses}


def _components() -> dict[str, Any]:
    return {
        "securitySchemes": {"token": {"type": "apiKey", "in": "header", "name": TOKEN}},
        "parameters": {
            "microversion": {
                "name": microversions.HEADER,
                "in": "header",
                "description": f"``compute 2.N``; without it {microversions.name(1)}.",
                "schema": {"type": "string", "pattern": r"^compute (2\.[1-9][0-9]*|latest)$"},
            }
        },
        "schemas": {"Error": _error()},
        "headers": {
            "Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}}
        },
        "responses": {str(status): _refusal(status) for status in sorted(_DESCRIPTIONS)},
    }


def _refusal(status: int) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "description": _DESCRIPTIONS[status],
        "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    if status in faults.WAITING:
        answer["headers"] = {"Retry-After": {"$ref": "#/components/headers/Retry-After"}}
    return answer


def _error() -> dict[str, Any]:
    inner = {
        "type": "object",
        "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
        "required": ["code", "message"],
    }
    names = sorted({*faults.NAMES.values(), faults.FAULT})
    return {
        "type": "object",
        "properties": dict.fromkeys(names, inner),
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }


class OpenApi:
    """Handlers of ``/openapi.json``."""

    def __init__(self, dependencies: Dependencies) -> None:
        elsewhere = service_catalog.roots(dependencies)
        routes = [
            route
            for route in dependencies.routes
            if service_catalog.message(route.path, elsewhere) is None
        ]
        # each takes milliseconds and some hundred KB
        self._document = functools.lru_cache(maxsize=4)(lambda minor: document(routes, minor=minor))

    def show(self, call: Call) -> Answer:
        """Return the document of all microversions, or of one.

        :raises roost.exception.Invalid: for a microversion that is not offered
        """
        asked = call.query.one("microversion")
        minor = None if asked is None else microversions.offered(asked)
        return Answer({**self._document(minor), "servers": [{"url": call.base_url}]})


ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /openapi.json",
        (OpenApi, OpenApi.show),
        OPENAPI_POLICY,
        query=SHOW_QUERY,
    ),
)
