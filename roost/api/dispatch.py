"""Dispatch of a request to its handler: finds the route, then checks policy, query and body.

Clients write the paths of Compute in several ways (``/v2.1/{project_id}/...``); each is converted
to the one in the table of routes. An upload is streamed to its handler, up to the allowed size.
"""

import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

import falcon

from roost import exception
from roost.api import service_catalog
from roost.api.dependencies import ApiOptions, Dependencies
from roost.api.middleware import COMPUTE, LEGACY
from roost.api.request import Answer, Call, Query
from roost.api.route import DATA, Route


class Upload(io.RawIOBase):
    """The body of a request, as a file to read once.

    :param length: the Content-Length in bytes; None: read to the end of the stream
    :param most: bytes that it may have
    """

    def __init__(self, stream: Any, *, length: int | None, most: int) -> None:
        super().__init__()
        self._stream = stream
        self._length = length
        self._most = most
        self._read = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return some bytes; none at the end.

        :raises falcon.HTTPContentTooLarge: when there are more than ``most``
        :raises roost.exception.Invalid: when there are fewer than ``length``
        """
        try:
            data = bytes(self._stream.read(size))
        except (OSError, ValueError) as error:
            raise exception.Invalid("The data broke off, or came too slowly.") from error
        self._read += len(data)
        if self._read > self._most:
            raise falcon.HTTPContentTooLarge(
                description=f"An image has {self._most} bytes at most."
            )
        if not data and size and self._length is not None and self._read < self._length:
            raise exception.Invalid(
                f"The data broke off after {self._read} of {self._length} bytes."
            )
        return data


MAX_DEPTH: Final = 64


def dispatchers(dependencies: Dependencies) -> dict[str, "Dispatcher"]:
    """Return a Falcon resource for each path of the table; handlers are created once.

    A path of a stand-in whose service the deployment has refuses every request, with a message.
    """
    routes = dependencies.routes
    nouns = {route.noun: route.noun(dependencies) for route in routes}
    by_path: dict[str, list[Route]] = {}
    for route in routes:
        by_path.setdefault(route.path, []).append(route)
    return {path: Dispatcher(of_path, nouns, dependencies) for path, of_path in by_path.items()}


class Dispatcher:
    """Serves one path. Falcon finds ``on_get`` and the like, one for each method of the path."""

    def __init__(
        self, routes: Sequence[Route], nouns: Mapping[type[Any], Any], dependencies: Dependencies
    ) -> None:
        self._routes = routes
        self._collections = nouns
        self._dependencies = dependencies
        self._refusal = service_catalog.message(routes[0].path, service_catalog.roots(dependencies))
        for method in {route.method for route in routes}:
            setattr(self, f"on_{method.lower()}", self._serve)

    def _serve(self, req: falcon.Request, resp: falcon.Response, **params: str) -> None:
        if self._refusal is not None:
            raise exception.NotFound(self._refusal)
        is_head = req.method == "HEAD"
        route = self._find("GET" if is_head else req.method, req.context.version)
        if not route.slash and req.env["PATH_INFO"].endswith("/"):
            raise exception.NotFound
        policy = self._dependencies.policy
        policy.require(req.context.caller, route.policy)
        answer = route.handler(
            self._collections[route.noun],
            Call(
                context=req.context.caller,
                version=req.context.version,
                path=req.path,
                params=_safe(params),
                query=_query(req, route),
                body=_body(req, route, self._dependencies.options),
                base_url=self._dependencies.options.public_url or req.prefix.rstrip("/"),
                policy=policy,
                rule=route.policy,
            ),
        )
        _send(answer, route, resp, is_head=is_head)

    def _find(self, method: str, version: int) -> Route:
        for route in self._routes:
            if route.method == method and route.since <= version <= route.until:
                return route
        raise exception.NotFound


def _query(req: falcon.Request, route: Route) -> Query:
    values = {
        name: value if isinstance(value, list) else [value] for name, value in req.params.items()
    }
    _check_text(values)
    if req.context.legacy:
        route.query.relax(values, minor=req.context.version)
    route.query.check(values, minor=req.context.version, what="query")
    return Query(values)


def _body(req: falcon.Request, route: Route, options: ApiOptions) -> Any:
    if DATA in route.takes:
        _check_kind(req, route, options)
        return _upload(req, options.max_image_size)
    if route.body is None:
        return None
    _check_kind(req, route, options)
    body = _read_json(req, options.max_request_body_size)
    if req.context.legacy:
        route.body.relax(body, minor=req.context.version)
    route.body.check(body, minor=req.context.version, what="body")
    return body


def _check_kind(req: falcon.Request, route: Route, options: ApiOptions) -> None:
    """Refuse a wrong or missing content type: browsers let any page send such a request."""
    said = req.content_type or ("" if options.wants_content_type else route.takes[0])
    kind = said.partition(";")[0].strip().lower()
    if kind not in route.takes:
        raise falcon.HTTPUnsupportedMediaType(
            description=f"Unsupported Content-Type {kind!r}; this takes {', '.join(route.takes)}."
        )


def _upload(req: falcon.Request, most: int) -> Upload:
    """Return the data of an upload; chunked where the server finds the end of the chunks."""
    chunked = "HTTP_TRANSFER_ENCODING" in req.env
    if chunked and not req.env.get("wsgi.input_terminated"):
        raise exception.Invalid("The request does not say how many bytes it sends.")
    if (req.content_length or 0) > most:
        raise falcon.HTTPContentTooLarge(description=f"An image has {most} bytes at most.")
    if chunked and req.content_length is None:
        return Upload(req.stream, length=None, most=most)
    return Upload(req.bounded_stream, length=req.content_length or 0, most=most)


def _read_json(req: falcon.Request, most: int) -> Any:
    data = _read(req, most)
    if len(data) > most:
        raise falcon.HTTPContentTooLarge(
            description=f"The request body has more than {most} bytes."
        )
    try:
        body = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
        if b"\\u" in data or b"[" * MAX_DEPTH in data or data.count(b"{") > MAX_DEPTH:
            _check_text(body)
    except (ValueError, RecursionError) as error:
        raise exception.Invalid("Malformed request body: it is no JSON") from error
    return body


def _read(req: falcon.Request, most: int) -> bytes:
    """Read at most one byte more than allowed; a body without length only where that is safe."""
    if req.content_length is None and req.env.get("wsgi.input_terminated"):
        return bytes(req.stream.read(most + 1))
    if (req.content_length or 0) > most:
        return b" " * (most + 1)
    return req.bounded_stream.read(most + 1)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _safe(params: dict[str, str]) -> dict[str, str]:
    if any("\0" in value for value in params.values()):
        raise exception.NotFound
    return params


def _check_text(value: Any, *, depth: int = 0) -> None:
    """Refuse text that databases cannot store, and nesting that no request needs.

    :raises roost.exception.Invalid: for NUL, halves of surrogate pairs and deep nesting
    """
    if depth > MAX_DEPTH:
        raise exception.Invalid("Malformed request: it is nested too deeply")
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
            raise exception.Invalid("Malformed request: it has characters that are no text")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _check_text(key, depth=depth + 1)
            _check_text(inner, depth=depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check_text(inner, depth=depth + 1)


def _send(answer: Answer, route: Route, resp: falcon.Response, *, is_head: bool) -> None:
    resp.status = answer.status or route.status
    if answer.data is not None:
        resp.content_type = DATA
        if is_head:
            resp.content_length = answer.length
            answer.data.close()
        else:
            resp.set_stream(answer.data, answer.length)
    if answer.body is not None:
        resp.media = answer.body
    for name, value in answer.headers.items():
        resp.set_header(name, value)


_SEGMENT: Final = re.compile(r"/v2\.1/([^/]+)(/.*)?", re.ASCII)


class ProjectPaths:
    """Takes the project's id out of ``/v2.1/{project_id}/servers``, and of ``/v2.1/{project_id}``.

    An id is a segment that is no collection of the routes. Comes after authentication: the project
    of the path must be the caller's.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        paths = (route.path.split("/") for route in routes)
        self._collections = {path[2] for path in paths if path[1] == COMPUTE[1:] and len(path) > 2}  # noqa: PLR2004

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        found = _SEGMENT.fullmatch(req.path)
        if found is None or found[1] in self._collections:
            return
        project = req.context.caller.project_id
        if found[2] is None:
            if found[1] == project:
                req.path = LEGACY if req.context.legacy else COMPUTE
            return
        if found[2].split("/")[1] not in self._collections:
            return
        if found[1] != project:
            raise exception.Invalid(
                f"Malformed request URL: URL's project_id '{found[1]}' doesn't match Context's"
                f" project_id '{project}'"
            )
        req.path = COMPUTE + found[2]
