"""Schemas of what a project may use."""

from typing import Any, Final

from roost.api.schemas.base import TEXT, list_query

_QUERY: dict[str, Any] = {"tenant_id": TEXT, "reserved": TEXT}
SHOW_QUERY: Final = list_query(_QUERY)
