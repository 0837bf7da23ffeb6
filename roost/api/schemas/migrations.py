"""Schemas of migrations."""

from typing import Any, Final

from roost.api.schemas.base import PAGE, TEXT, TIME, query
from roost.api.validation import Schema

PAGES: Final = 59  # since 2.59 the list has pages, and refuses names that it does not know

_NAMES: Final = ("hidden", "host", "instance_uuid", "migration_type", "source_compute", "status")
_FILTERS: Final[dict[str, Any]] = dict.fromkeys(_NAMES, TEXT)
_PAGED: Final[dict[str, Any]] = {**_FILTERS, **PAGE, "changes-since": TIME}
_BETWEEN: Final[dict[str, Any]] = {**_PAGED, "changes-before": TIME}

LIST_QUERY: Final = Schema(
    {
        1: query(_FILTERS),
        PAGES: query(_PAGED, strict=True),
        66: query(_BETWEEN, strict=True),
        80: query({**_BETWEEN, "user_id": TEXT, "project_id": TEXT}, strict=True),
    }
)
