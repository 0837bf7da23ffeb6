"""Schemas of servers' metadata. How many items there may be is a matter of quota."""

from typing import Any, Final

from roost.api.schemas.base import wrapped
from roost.api.validation import always

METADATA: Final[dict[str, Any]] = {
    "type": "object",
    "patternProperties": {r"^[a-zA-Z0-9\-_:. ]{1,255}$": {"type": "string", "maxLength": 255}},
    "additionalProperties": False,
}
CHANGE: Final = always(wrapped("metadata", METADATA))
CHANGE_ONE: Final = always(wrapped("meta", {**METADATA, "minProperties": 1, "maxProperties": 1}))
