"""Schemas of the cloud's daemons."""

from typing import Any, Final

from roost.api.schemas.base import BOOLEAN, TEXT, list_query, of
from roost.api.validation import Schema, always

_NAME = {**TEXT, "minLength": 1}
_REASON = {**TEXT, "minLength": 1}
_LEGACY: dict[str, Any] = {
    "host": _NAME,
    "binary": _NAME,
    "disabled_reason": _REASON,
}

LIST_QUERY: Final = list_query({"host": TEXT, "binary": TEXT})
UPDATE: Final = always(
    {
        **of(
            {
                "status": {"type": "string", "enum": ["enabled", "disabled"]},
                "disabled_reason": _REASON,
                "forced_down": BOOLEAN,
            }
        ),
        "minProperties": 1,
    }
)
# Before 2.53 the path names what to do, and the body the daemon.
LEGACY_UPDATE: Final = Schema(
    {
        1: of(_LEGACY, required=["host", "binary"]),
        11: of({**_LEGACY, "forced_down": BOOLEAN}, required=["host", "binary"]),
    }
)
