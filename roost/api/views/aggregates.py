"""Aggregates as JSON."""

from typing import Any, Final

from roost.api.views.base import micros
from roost.db.api.aggregates import ZONE
from roost.objects import Aggregate

UUIDS: Final = 41


def full(aggregate: Aggregate, *, version: int) -> dict[str, Any]:
    """Return an aggregate with its hosts and metadata."""
    return {
        **created(aggregate, version=version),
        "hosts": list(aggregate.hosts),
        "metadata": dict(aggregate.metadata),
    }


def created(aggregate: Aggregate, *, version: int) -> dict[str, Any]:
    """Return what is told of one that was just made."""
    shown: dict[str, Any] = {
        "id": aggregate.id,
        "name": aggregate.name,
        "availability_zone": aggregate.metadata.get(ZONE),
        "created_at": micros(aggregate.created_at),
        "updated_at": micros(aggregate.updated_at),
        "deleted": False,
        "deleted_at": None,
    }
    if version >= UUIDS:
        shown["uuid"] = aggregate.uuid
    return shown
