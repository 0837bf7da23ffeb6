"""Pieces that the nouns' schemas are made of."""

from collections.abc import Mapping
from typing import Any, Final

from roost.api import microversions
from roost.api.validation import Schema

Document = Mapping[str, Any]
MAX_INTEGER: Final = 2**31 - 1
MOST_VALUES: Final = 256  # how often a query names a parameter; as many ids as an URL of 8 KiB has
EVER: Final = microversions.MAXIMUM  # where a property has come to stay
STRICT_QUERIES: Final = 75  # since 2.75 names that a list does not know are refused
ALL_STRICT: Final = 102  # since 2.102 names that nothing knows are refused everywhere

# A name is what can be read: something that is no blank, and no control characters.
NAME: Final = {
    "type": "string",
    "minLength": 1,
    "maxLength": 255,
    "pattern": r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$",
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
    """Return the schema of a query; each value is of its property's schema, each time it is given.

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
