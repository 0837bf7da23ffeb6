"""Schemas of hosts in the words of Compute before 2.43."""

from typing import Any, Final

from roost.api.schemas.base import TEXT, of, query
from roost.api.validation import always

_WORD: Final[dict[str, Any]] = {
    "type": "string",
    "enum": ["enable", "disable", "Enable", "Disable", "ENABLE", "DISABLE"],
}
LIST_QUERY: Final = always(query({"zone": TEXT}))
UPDATE: Final = always({**of({"status": _WORD, "maintenance_mode": _WORD}), "minProperties": 1})
