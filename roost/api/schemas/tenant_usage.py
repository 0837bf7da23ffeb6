"""Schemas of what projects have used."""

from typing import Any, Final

from roost.api.schemas.base import PAGE, STRICT_QUERIES, TEXT, query
from roost.api.tenant_usage import PAGES
from roost.api.validation import Schema

_PERIOD: Final[dict[str, Any]] = {"start": TEXT, "end": TEXT}


def _paged(names: dict[str, Any]) -> Schema:
    return Schema(
        {
            1: query(names),
            PAGES: query({**names, **PAGE}),
            STRICT_QUERIES: query({**names, **PAGE}, strict=True),
        }
    )


LIST_QUERY: Final = _paged({**_PERIOD, "detailed": TEXT})
SHOW_QUERY: Final = _paged(_PERIOD)
