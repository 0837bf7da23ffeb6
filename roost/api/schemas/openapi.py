"""Schemas of the OpenAPI document."""

from typing import Any, Final

from roost.api.schemas.base import query
from roost.api.validation import always

_QUERY: dict[str, Any] = {
    "microversion": {"type": "string", "pattern": r"^(2\.[1-9][0-9]{0,3}|latest)$"}
}
SHOW_QUERY: Final = always(query(_QUERY, strict=True))
