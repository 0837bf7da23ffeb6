"""Nova's own schemas of its answers, to measure ours by: none of them is a part of Roost.

``tools/nova.sh`` installs Nova and writes what it says of each operation to a file.
"""

import base64
import dataclasses
import functools
import io
import json
import pathlib
import re
import subprocess

import jsonschema
import netaddr
import rfc3986.validators
from oslo_utils import timeutils, uuidutils

from tests.external.nova_differences import DIFFERENCES

_TOP = pathlib.Path(__file__).parents[2]
_BRACES = re.compile(r"\{\w+\}")
_ACTION = "/action"
_FORMATS = jsonschema.FormatChecker(formats=("ipv4", "ipv6"))
_URI = (
    rfc3986.validators.Validator()
    .require_presence_of("scheme", "host")
    .check_validity_of("scheme", "userinfo", "host", "path", "query", "fragment")
)


def read(folder):
    """Return Nova's shapes, installed before if they are not there: that takes a minute or two.

    :raises subprocess.CalledProcessError: when Nova cannot be installed; its output says why
    """
    subprocess.run(["sh", str(_TOP / "tools/nova.sh"), str(folder)], check=True)
    return Shapes(json.loads((folder / "shapes.json").read_text()))


@dataclasses.dataclass(frozen=True)
class Operation:
    """What is asked of a path, as Nova says it; ``tools/nova_shapes.py`` has the words."""

    method: str
    path: str
    action: str
    gone: bool
    since: int
    until: int
    statuses: list
    bodies: list

    def __str__(self):
        return f"{self.method} {self.path} {self.action}".rstrip()

    def serves(self, minor):
        return self.since <= minor <= self.until and not self.gone

    def beginnings(self):
        """Return the minor versions from which something differs, as far as they are served."""
        found = {max(since, self.since, 1) for since, _, _ in (*self.bodies, *self.statuses)}
        return {minor for minor in found if self.serves(minor)}

    def problems(self, minor, status, body):
        """Yield what is wrong with an answer of success.

        :param body: as JSON has it; None: there is none
        """
        if not self.serves(minor):
            yield f"not in 2.{minor}"
            return
        expected = _of(self.statuses, minor)
        if expected not in (None, status):
            yield f"status {status}, not {expected}"
        for error in self._validators[_of(self._bounds, minor)].iter_errors(body):
            reason = jsonschema.exceptions.best_match([error])
            yield f"{reason.json_path}: {reason.message[:200]}"

    @functools.cached_property
    def _bounds(self):
        return [(since, until, number) for number, (since, until, _) in enumerate(self.bodies)]

    @functools.cached_property
    def _validators(self):
        return [
            jsonschema.Draft202012Validator(schema, format_checker=_FORMATS)
            for _, _, schema in self.bodies
        ]


class Shapes:
    """What Nova says of all its answers."""

    def __init__(self, told):
        self.operations = [Operation(**operation) for operation in told]
        self._by_path = {}
        for operation in self.operations:
            key = operation.method, _segments(operation.path)
            self._by_path.setdefault(key, {})[operation.action] = operation

    def of_path(self, method, path):
        """Return what may be asked of a path, by the actions that bodies name.

        :param path: of a request, perhaps with a project in it; or of a route, with its braces
        """
        version, segments = _segments(path)[:1], _segments(path)[1:]
        if version != ("v2.1",):
            return {}
        return self._matching(method, segments) or self._matching(method, segments[1:])

    def problems(self, method, path, sent, minor, status, body):
        """Return what is wrong with an answer of success, but for what is meant to differ.

        :param sent: the body of the request
        """
        operations = self.of_path(method, path)
        action = next(iter(sent), "") if path.endswith(_ACTION) else ""
        operation = operations.get(action)
        if operation is None:
            found = [f"{method} {path} {action}: Nova has no such thing"] if operations else []
        else:
            wrong = operation.problems(minor, status, body)
            found = [f"{operation} 2.{minor} {each}" for each in wrong]
        return [problem for problem in found if not any(d.covers(problem) for d in DIFFERENCES)]

    def _matching(self, method, segments):
        found = [
            (known, operations)
            for (asked, known), operations in self._by_path.items()
            if asked == method and _fits(known, segments)
        ]
        # names of their own go before braces
        return min(found, key=lambda each: each[0].count("{}"), default=((), {}))[1]


class Watch:
    """Looks at answers of success as WSGI applications give them, and keeps what is wrong."""

    def __init__(self, shapes):
        self.shapes = shapes
        self.seen = 0
        self.problems = []

    def over(self, call):
        """Return what calls an application as ``call`` does."""

        judge = self._judge

        def watched(self, environ, start_response):  # Falcon's client counts "self" apart
            started = []

            def start(status, headers, *more):
                started[:] = [int(status[:3]), {name.lower(): text for name, text in headers}]
                return start_response(status, headers, *more)

            asked = environ["REQUEST_METHOD"], environ["PATH_INFO"], _sent(environ)
            given = call(self, environ, start)
            if not asked[1].startswith("/v2.1") or started[0] >= 300:
                return given
            content = b"".join(given)
            judge(*asked, *started, content)
            return [content]

        return watched

    def _judge(self, method, path, sent, status, headers, content):
        minor = int(headers["openstack-api-version"].rpartition(".")[2])
        body = json.loads(content) if content else None
        self.seen += 1
        self.problems += self.shapes.problems(method, path, sent, minor, status, body)


def _sent(environ):
    """Return the body of an action, and leave it to be read again."""
    if not environ["PATH_INFO"].endswith(_ACTION):
        return None
    content = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(content)
    try:
        return json.loads(content)
    except ValueError:  # what answers 400
        return None


def _segments(path):
    return tuple(word for word in _BRACES.sub("{}", path).split("/") if word)


def _fits(known, segments):
    return len(known) == len(segments) and all(
        word in ("{}", segment) for word, segment in zip(known, segments, strict=True)
    )


def _of(rows, minor):
    return next((value for since, until, value in rows if since <= minor <= until), None)


def _format(name, *raises):
    return _FORMATS.checks(name, raises)


@_format("date-time", ValueError)
def _is_time(value):
    return not isinstance(value, str) or bool(timeutils.parse_isotime(value))


@_format("uuid")
def _is_uuid(value):
    return not isinstance(value, str) or uuidutils.is_uuid_like(value)


@_format("uri", rfc3986.exceptions.RFC3986Exception)
def _is_uri(value):
    if isinstance(value, str):
        _URI.validate(rfc3986.uri_reference(value))
    return True


@_format("base64", ValueError)
def _is_base64(value):
    return not isinstance(value, str) or base64.b64decode(value) is not None


@_format("mac-address")
def _is_mac(value):
    return not isinstance(value, str) or netaddr.valid_mac(value)


@_format("cidr", netaddr.AddrFormatError)
def _is_cidr(value):
    return not isinstance(value, str) or ("/" in value and bool(netaddr.IPNetwork(value)))
