"""Schemas of aggregates."""

from typing import Any, Final

from roost.api.schemas.base import NAME, TEXT, of, wrapped
from roost.api.validation import always

# A name without colons, which part zone, host and node where a server is created.
_ZONE: dict[str, Any] = {
    **NAME,
    "type": ["string", "null"],
    "pattern": r"^[^\x00-\x1f\x7f:]*[^\x00-\x20\x7f:][^\x00-\x1f\x7f:]*$",
}
_ASKED: dict[str, Any] = {"name": NAME, "availability_zone": _ZONE}
_HOST = of({"host": {**TEXT, "minLength": 1, "pattern": r"^[a-zA-Z0-9._-]+$"}}, required=["host"])
_METADATA = {
    "type": "object",
    "properties": {"availability_zone": _ZONE},
    "patternProperties": {
        r"^[a-zA-Z0-9\-_:. ]{1,255}$": {"type": ["string", "null"], "maxLength": 255}
    },
    "additionalProperties": False,
    "maxProperties": 128,
}

CREATE: Final = always(wrapped("aggregate", of(_ASKED, required=["name"])))
UPDATE: Final = always(wrapped("aggregate", {**of(_ASKED), "minProperties": 1}))
ACTION: Final = always(
    {
        **of(
            {
                "add_host": _HOST,
                "remove_host": _HOST,
                "set_metadata": of({"metadata": _METADATA}, required=["metadata"]),
            }
        ),
        "minProperties": 1,
        "maxProperties": 1,
    }
)
