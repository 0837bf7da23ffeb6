"""JSON Schema of bodies and queries, one per range of microversions; times of queries.

Answers show times in whole seconds, and rows have microseconds: so a time without a fraction in a
query means the whole second.
"""

import base64
import binascii
import datetime
import functools
import ipaddress
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import jsonschema
from jsonschema import exceptions as schema_exceptions

from roost import exception
from roost.api import microversions
from roost.api.request import Call

Document = Mapping[str, Any]
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32}")
_FORMATS: Final = jsonschema.FormatChecker(formats=())
_SECRETS: Final = {"adminPass", "user_data", "personality"}
_SHOWN: Final = 80  # characters of an invalid value that an error message repeats


class Schema:
    """The schema of a body or a query, by microversion.

    :param since: minor microversion -> document; the last one not after the request's applies
    """

    def __init__(self, since: Mapping[int, Document]) -> None:
        #: The documents by the first minor microversion of each, the last first.
        self.documents = dict(sorted(since.items(), reverse=True))
        self._validators: dict[int, jsonschema.protocols.Validator] = {}

    def document(self, minor: int) -> Document:
        """Return the document of a microversion."""
        return self.documents[self._since(minor)]

    def check(self, value: Any, *, minor: int, what: str) -> None:
        """Raise :class:`roost.exception.Invalid`, naming the field, unless ``value`` is valid.

        :param what: ``body`` or ``query``, for the message
        """
        error = schema_exceptions.best_match(self._validator(minor).iter_errors(value))
        if error is not None:
            raise exception.Invalid(_message(error, what))

    def relax(self, value: Any, *, minor: int) -> None:
        """Remove unknown fields from ``value``, as Compute v2.0 ignored them.

        Also strip blanks from strings that must have none at their ends, as v2.0 did.
        """
        for error in list(self._validator(minor).iter_errors(value)):
            if error.validator == "pattern" and error.absolute_path:
                *way, last = error.absolute_path
                holder: Any = functools.reduce(operator.getitem, way, value)
                holder[last] = str(error.instance).strip()
            if error.validator == "additionalProperties" and error.validator_value is False:
                sent: Any = error.instance
                for name in _unknown(error):
                    del sent[name]

    def _since(self, minor: int) -> int:
        return next(since for since in self.documents if since <= minor)

    def _validator(self, minor: int) -> jsonschema.protocols.Validator:
        """Return the validator, compiled on first use: compiling all would delay the start."""
        since = self._since(minor)
        if since not in self._validators:
            self._validators[since] = _validator(self.documents[since])
        return self._validators[since]


def always(document: Document) -> Schema:
    """Return a schema that is the same in all microversions."""
    return Schema({1: document})


def grown(
    rows: Sequence[tuple[int, int, str, Document]],
    build: Callable[[int, dict[str, Any]], Document],
) -> Schema:
    """Make a schema from a table of properties, each with the microversions that have it.

    :param rows: (first, last, property, its document); a later row overrides an earlier one
    :param build: (minor, properties) -> the whole document of that version
    """
    changes = {1, *(first for first, _, _, _ in rows), *(last + 1 for _, last, _, _ in rows)}
    return Schema(
        {
            minor: build(
                minor, {name: doc for first, last, name, doc in rows if first <= minor <= last}
            )
            for minor in sorted(changes)
        }
    )


def is_uuid(value: str) -> bool:
    """Return whether a string is a uuid, with or without hyphens."""
    return _UUID.fullmatch(value) is not None


def timestamp(value: str) -> datetime.datetime:
    """Read a time in ISO 8601; one without zone is UTC.

    :raises ValueError: when it is not a time
    """
    # a "+" of an unquoted query arrives as a space
    read = datetime.datetime.fromisoformat(value.strip().replace(" ", "+", value.count(":") > 2))  # noqa: PLR2004
    return read if read.tzinfo else read.replace(tzinfo=datetime.UTC)


def _validator(document: Document) -> jsonschema.protocols.Validator:
    made: jsonschema.protocols.Validator = _Validator(_ending(document), format_checker=_FORMATS)
    return made


def _items(validator: Any, items: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Validate the items of a list only if it is not too long: refusing must be cheap."""
    if not isinstance(instance, list) or len(instance) <= schema.get("maxItems", len(instance)):
        yield from jsonschema.Draft202012Validator.VALIDATORS["items"](
            validator, items, instance, schema
        )


_Validator: Final[Any] = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator, {"items": _items}
)


def _ending(document: Any) -> Any:
    """Let ``$`` match at the end only, as in JSON Schema; Python's matches before a newline too."""
    if isinstance(document, list | tuple):
        return [_ending(inner) for inner in document]
    if not isinstance(document, Mapping):
        return document
    ended = {name: _ending(inner) for name, inner in document.items()}
    if isinstance(ended.get("pattern"), str):
        ended["pattern"] = _ended(ended["pattern"])
    if "patternProperties" in ended:
        by_pattern = ended["patternProperties"].items()
        ended["patternProperties"] = {_ended(pattern): inner for pattern, inner in by_pattern}
    return ended


def _ended(pattern: str) -> str:
    return f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern


def _message(error: schema_exceptions.ValidationError, what: str) -> str:
    where = "/".join(str(part) for part in error.absolute_path)
    said = error.message
    if _is_secret(error):
        said = said.replace(repr(error.instance), "what was sent")
    if len(said) > 4 * _SHOWN:
        said = f"{said[:_SHOWN]} ... {said[-_SHOWN:]}"
    if not where:
        return f"Invalid {what}: {said}"
    return f"Invalid input for field/attribute {where[:_SHOWN]}: {said}"


def _unknown(error: schema_exceptions.ValidationError) -> list[str]:
    """Return the unknown names in an object."""
    document: Any = error.schema
    sent: Any = error.instance
    known, patterns = document.get("properties", {}), document.get("patternProperties", {})
    return [
        name
        for name in sent
        if name not in known and not any(re.search(pattern, name) for pattern in patterns)
    ]


def _is_secret(error: schema_exceptions.ValidationError) -> bool:
    """Return whether an invalid value is a secret, or may contain one."""
    whole = isinstance(error.instance, dict | list)
    return whole or not _SECRETS.isdisjoint(map(str, error.absolute_path))


def _format(name: str) -> Callable[[Callable[[str], Any]], Callable[[str], Any]]:
    """Register a check, which raises ValueError or returns a false value for invalid strings."""

    def register(check: Callable[[str], Any]) -> Callable[[str], Any]:
        _FORMATS.checks(name, raises=(ValueError,))(
            lambda value: not isinstance(value, str) or bool(check(value))
        )
        return check

    return register


def _unscoped(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Refuse ``fe80::1%eth0``: a scope has a meaning on one host only."""
    return lambda value: "%" not in value and parse(value)


_format("uuid")(is_uuid)
_format("ipv4")(ipaddress.IPv4Address)
_format("ipv6")(_unscoped(ipaddress.IPv6Address))
_format("ip")(_unscoped(ipaddress.ip_address))


@_format("date-time")
def _is_time(value: str) -> bool:
    try:
        timestamp(value).astimezone(datetime.UTC)
    except OverflowError as error:
        raise ValueError(value) from error
    return True


@_format("base64")
def _is_base64(value: str) -> bool:
    try:
        base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError(value) from error
    return True


MAX_INTEGER: Final = 2**31 - 1
MOST_VALUES: Final = 256  # repetitions of a query parameter; as many ids fit into a URL of 8 KiB
EVER: Final = microversions.MAXIMUM  # last microversion of a property that was not removed
STRICT_QUERIES: Final = 75  # since 2.75 lists refuse unknown query parameters
ALL_STRICT: Final = 102  # since 2.102 all requests refuse unknown query parameters

# A visible name: no blanks at its ends, and no control characters.
NAME: Final = {
    "type": "string",
    "minLength": 1,
    "maxLength": 255,
    "pattern": r"^(?!\s)[^\x00-\x1f\x7f]+(?<!\s)$",
}
TEXT: Final = {"type": "string", "maxLength": 255}
OPTIONAL_TEXT: Final = {"type": ["string", "null"], "maxLength": 255}
UUID: Final = {"type": "string", "format": "uuid"}
TIME: Final = {"type": "string", "format": "date-time", "maxLength": 64}
WHOLE_NUMBER: Final = {"type": "string", "pattern": "^[0-9]{0,9}$"}
BOOLEAN: Final = {
    "type": ["boolean", "string"],
    "enum": [
        *(True, "True", "TRUE", "true", "1", "ON", "On", "on", "YES", "Yes", "yes", "y", "t"),
        *(False, "False", "FALSE", "false", "0", "OFF", "Off", "off", "NO", "No", "no", "n", "f"),
    ],
}
SORT_DIRECTION: Final = {"type": "string", "enum": ["asc", "desc"]}


def of(properties: Document, *, required: list[str] | None = None) -> Document:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": required or [],
        "additionalProperties": False,
    }


def wrapped(name: str, inner: Document) -> Document:
    """Return the schema of ``{name: inner}``, as OpenStack wraps its bodies."""
    return of({name: inner}, required=[name])


def number(least: int, most: int = MAX_INTEGER) -> Document:
    """Return the schema of a whole number, which may be written as a string."""
    return {
        "oneOf": [
            {"type": "integer", "minimum": least, "maximum": most},
            {"type": "string", "pattern": f"^{'' if least >= 0 else '-?'}[0-9]{{1,10}}$"},
        ]
    }


def query(properties: Document, *, strict: bool = False) -> Document:
    """Return the schema of a query; the schema of a property applies to each of its values.

    :param strict: whether other names are refused
    """
    return {
        "type": "object",
        "properties": {name: _repeated(value) for name, value in properties.items()},
        "additionalProperties": False if strict else _repeated({}),
    }


def _repeated(value: Document) -> Document:
    return {"type": "array", "maxItems": MOST_VALUES, "items": value}


def list_query(properties: Document) -> Schema:
    """Return the schema of a list's query, which is strict from 2.75 on."""
    return Schema(
        {1: query(properties), STRICT_QUERIES: query(properties, strict=True)},
    )


PAGE: Final[Document] = {"limit": WHOLE_NUMBER, "marker": TEXT}
ANY_QUERY: Final = Schema({1: query({}), ALL_STRICT: query({}, strict=True)})


BEFORE_SINCE: Final = 66  # since 2.66 lists have the filter changes-before
_END_OF_SECOND: Final = 999_999  # microseconds


class TimeSpan(NamedTuple):
    """The first and the last moment of a time span."""

    first: datetime.datetime
    last: datetime.datetime


class Changes(NamedTuple):
    """The first and the last moment of the requested changes; None: unbounded."""

    since: datetime.datetime | None
    before: datetime.datetime | None

    @property
    def are_asked(self) -> bool:
        return self.since is not None or self.before is not None

    def have(self, moment: datetime.datetime) -> bool:
        return (self.since is None or self.since <= moment) and (
            self.before is None or moment <= self.before
        )


def span(said: str) -> TimeSpan:
    """Read a time span.

    :raises ValueError: when it is not a time
    """
    first = timestamp(said)
    exact = "." in said or "," in said
    return TimeSpan(first, first if exact else first.replace(microsecond=_END_OF_SECOND))


def changes(call: Call, *, since: int = 1) -> Changes:
    """Return the query's ``changes-since`` and ``changes-before``.

    :param since: the first minor microversion with ``changes-since``; before, it is ignored
    :raises roost.exception.Invalid: when the second comes before the first
    """
    begin, end = _span(call, "changes-since", since), _span(call, "changes-before", BEFORE_SINCE)
    if begin and end and begin.first > end.last:
        raise exception.Invalid(
            "The value of changes-since must be less than or equal to changes-before."
        )
    return Changes(begin and begin.first, end and end.last)


def _span(call: Call, name: str, since: int) -> TimeSpan | None:
    said = call.query.one(name) if call.version >= since else None
    return None if said is None else span(said)
