"""Schemas of quotas."""

from typing import Any, Final

from roost.api import quota_resources
from roost.api.schemas.base import BOOLEAN, MAX_INTEGER, TEXT, list_query, of, wrapped
from roost.api.validation import Schema

# -1: no limit. How large one written as a string may be, the handler knows.
_LIMIT: Final = {
    "oneOf": [
        {"type": "integer", "minimum": -1, "maximum": MAX_INTEGER},
        {"type": "string", "pattern": "^(-1|[0-9]{1,10})$"},
    ]
}
QUERY: Final = list_query({"user_id": TEXT})


def _limits(*gone: str, **more: Any) -> Any:
    names = [*quota_resources.ALL, "networks"]
    return of({**{name: _LIMIT for name in names if name not in gone}, **more})


def _sets(*gone: str) -> Any:
    return wrapped("quota_set", _limits(*gone, force=BOOLEAN))


def _classes(*gone: str) -> Any:
    return wrapped("quota_class_set", _limits(*gone))


_NETWORKS: Final = (*quota_resources.NETWORKS, "networks")
_GONE: Final = (*_NETWORKS, *quota_resources.FILES)
UPDATE: Final = Schema(
    {
        1: _sets(),
        quota_resources.NO_NETWORKS: _sets(*_NETWORKS),
        quota_resources.NO_FILES: _sets(*_GONE),
    }
)
UPDATE_CLASS: Final = Schema(
    {
        1: _classes(),
        quota_resources.CLASSES: _classes(*_NETWORKS),
        quota_resources.NO_FILES: _classes(*_GONE),
    }
)
