"""Schemas of servers' tags."""

from typing import Any, Final

from roost.api.schemas.base import wrapped
from roost.api.validation import always

TAGGED: Final = 26  # since 2.26 servers have tags, and lists may be filtered by them
MOST: Final = 50
TAG: Final = {"type": "string", "minLength": 1, "maxLength": 60, "pattern": "^[^,/]*$"}
TAGS: Final[dict[str, Any]] = {"type": "array", "maxItems": MOST, "items": TAG}
REPLACE: Final = always(wrapped("tags", TAGS))
ONE: Final = always(TAG)
