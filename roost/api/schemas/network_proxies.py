"""Schemas of networks in the words of Compute before 2.36."""

from typing import Final

from roost.api.schemas.base import OPTIONAL_TEXT
from roost.api.validation import always

CREATE_FLOATING_IP: Final = always(
    {
        "type": ["object", "null"],
        "properties": {"pool": OPTIONAL_TEXT},
        "additionalProperties": False,
    }
)
