"""Schemas of the records of what was done to a server."""

from typing import Any, Final

from roost.api.schemas.base import PAGE, TIME, query
from roost.api.validation import Schema

PAGES: Final = 58  # since 2.58 the list has pages
_PAGED: dict[str, Any] = {**PAGE, "changes-since": TIME}

LIST_QUERY: Final = Schema(
    {
        1: query({}),
        PAGES: query(_PAGED, strict=True),
        66: query({**_PAGED, "changes-before": TIME}, strict=True),
    }
)
