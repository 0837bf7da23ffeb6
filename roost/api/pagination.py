"""Pages of lists, the link to the next one, and links and times as answers show them."""

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib import parse

from roost import exception
from roost.api.request import Call

T = TypeVar("T")


def limit(call: Call, *, most: int) -> int:
    """Return the size of a page: the query's limit, ``most`` at most; 0 means ``most``."""
    asked = call.query.number("limit")
    return min(asked or most, most) if asked != 0 else most


def after(found: list[T], call: Call, *, identity: str = "id") -> list[T]:
    """Return the items after the query's marker, if it has one.

    :param identity: the attribute that the marker names
    :raises roost.exception.Invalid: when no item matches the marker
    """
    marker = call.query.one("marker")
    if not marker:
        return found
    places = [place for place, one in enumerate(found) if getattr(one, identity) == marker]
    if not places:
        raise exception.Invalid(f"marker [{marker}] not found")
    return found[places[0] + 1 :]


def links(call: Call, name: str, *, full: bool, last: str) -> Mapping[str, Any]:
    """Return ``{name}_links`` (or ``links``) with the next page, if this one is full.

    :param last: the ``marker`` of the next page
    """
    if not full:
        return {}
    query = [(key, value) for key, values in call.query.values.items() for value in values]
    query = [(key, value) for key, value in query if key != "marker"] + [("marker", last)]
    href = f"{call.base_url}{call.path}?{parse.urlencode(query)}"
    key = name if name == "links" else f"{name}_links"
    return {key: [{"rel": "next", "href": href}]}


def time(value: datetime.datetime | None) -> str | None:
    """Format a time as most of Compute does: ``2026-11-21T09:30:00Z``."""
    return None if value is None else value.astimezone(datetime.UTC).isoformat()[:19] + "Z"


def micros(value: datetime.datetime | None) -> str | None:
    """Format a time as Compute's extensions do: ``2026-11-21T09:30:00.000000``."""
    if value is None:
        return None
    return value.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def self_links(base_url: str, collection: str, identity: str) -> list[dict[str, Any]]:
    """Return the links ``self`` and ``bookmark`` of a resource."""
    return [
        {"rel": "self", "href": f"{base_url}/v2.1/{collection}/{identity}"},
        {"rel": "bookmark", "href": f"{base_url}/{collection}/{identity}"},
    ]
