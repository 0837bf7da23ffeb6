"""JSON Schema for bodies and queries, with one schema per range of microversions."""

import base64
import binascii
import datetime
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import jsonschema
from jsonschema import exceptions as schema_exceptions

from roost import exception

Document = Mapping[str, Any]
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32}")
_FORMATS: Final = jsonschema.FormatChecker(formats=())
_SECRETS: Final = {"adminPass", "user_data", "personality"}
_SHOWN: Final = 80  # characters of a bad value that an error message repeats


class Schema:
    """What a body or a query must be, from some microversions on.

    :param since: minor microversion -> document; a request meets the last one not after its own
    """

    def __init__(self, since: Mapping[int, Document]) -> None:
        #: The documents by the minor microversion that each begins with, the last first.
        self.documents = dict(sorted(since.items(), reverse=True))
        self._validators: dict[int, jsonschema.protocols.Validator] = {}

    def document(self, minor: int) -> Document:
        """Return what applies to a microversion."""
        return self.documents[self._since(minor)]

    def check(self, value: Any, *, minor: int, what: str) -> None:
        """Raise :class:`roost.exception.Invalid`, naming the place, unless ``value`` fits.

        :param what: ``body`` or ``query``, for the message
        """
        error = schema_exceptions.best_match(self._validator(minor).iter_errors(value))
        if error is not None:
            raise exception.Invalid(_message(error, what))

    def relax(self, value: Any, *, minor: int) -> None:
        """Take out of ``value`` what the document does not know, as Compute v2.0 overlooked it."""
        for error in list(self._validator(minor).iter_errors(value)):
            if error.validator == "additionalProperties" and error.validator_value is False:
                sent: Any = error.instance
                for name in _unknown(error):
                    del sent[name]

    def _since(self, minor: int) -> int:
        return next(since for since in self.documents if since <= minor)

    def _validator(self, minor: int) -> jsonschema.protocols.Validator:
        """Return it, made when first needed: to make all would keep an API from its start."""
        since = self._since(minor)
        if since not in self._validators:
            self._validators[since] = _validator(self.documents[since])
        return self._validators[since]


def always(document: Document) -> Schema:
    """Return a schema that no microversion changes."""
    return Schema({1: document})


def grown(
    rows: Sequence[tuple[int, int, str, Document]],
    build: Callable[[int, dict[str, Any]], Document],
) -> Schema:
    """Make a schema of a table of properties, each with the microversions that have it.

    :param rows: (first, last, property, its document); a later row overrules an earlier one
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
    """Tell whether a string is a uuid, with or without hyphens."""
    return _UUID.fullmatch(value) is not None


def timestamp(value: str) -> datetime.datetime:
    """Read a time in ISO 8601; one without zone is UTC.

    :raises ValueError: when it is none
    """
    # a "+" of an unquoted query arrives as a space
    read = datetime.datetime.fromisoformat(value.strip().replace(" ", "+", value.count(":") > 2))  # noqa: PLR2004
    return read if read.tzinfo else read.replace(tzinfo=datetime.UTC)


def _validator(document: Document) -> jsonschema.protocols.Validator:
    made: jsonschema.protocols.Validator = _Validator(_ending(document), format_checker=_FORMATS)
    return made


def _items(validator: Any, items: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Look at the items of a list that is not too long: to refuse one costs nothing."""
    if not isinstance(instance, list) or len(instance) <= schema.get("maxItems", len(instance)):
        yield from jsonschema.Draft202012Validator.VALIDATORS["items"](
            validator, items, instance, schema
        )


_Validator: Final[Any] = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator, {"items": _items}
)


def _ending(document: Any) -> Any:
    """Let patterns end where JSON Schema says; Python's dollar lets a line's end follow."""
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
    """Return the names in an object that its document has no place for."""
    document: Any = error.schema
    sent: Any = error.instance
    known, patterns = document.get("properties", {}), document.get("patternProperties", {})
    return [
        name
        for name in sent
        if name not in known and not any(re.search(pattern, name) for pattern in patterns)
    ]


def _is_secret(error: schema_exceptions.ValidationError) -> bool:
    """Tell whether a bad value is not to be repeated, or may have one inside that is not."""
    whole = isinstance(error.instance, dict | list)
    return whole or not _SECRETS.isdisjoint(map(str, error.absolute_path))


def _format(name: str) -> Callable[[Callable[[str], Any]], Callable[[str], Any]]:
    """Register a check, which raises ValueError or returns a false value for what is bad."""

    def register(check: Callable[[str], Any]) -> Callable[[str], Any]:
        _FORMATS.checks(name, raises=(ValueError,))(
            lambda value: not isinstance(value, str) or bool(check(value))
        )
        return check

    return register


def _unscoped(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Refuse ``fe80::1%eth0``: a scope means something on one host only."""
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
