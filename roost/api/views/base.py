"""What the views of all nouns share."""

import datetime
from typing import Any


def time(value: datetime.datetime | None) -> str | None:
    """Write a time as most of Compute does: ``2026-11-21T09:30:00Z``."""
    return None if value is None else value.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micros(value: datetime.datetime | None) -> str | None:
    """Write a time as its extensions do: ``2026-11-21T09:30:00.000000``."""
    if value is None:
        return None
    return value.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


def links(base_url: str, collection: str, identity: str) -> list[dict[str, Any]]:
    """Return ``self`` and ``bookmark`` of a thing of Compute."""
    return [
        {"rel": "self", "href": f"{base_url}/v2.1/{collection}/{identity}"},
        {"rel": "bookmark", "href": f"{base_url}/{collection}/{identity}"},
    ]
