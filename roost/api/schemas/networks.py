"""Schemas of the networks that servers may ask for."""

from typing import Final

from roost.api.schemas.base import PAGE, TEXT, query
from roost.api.validation import always

LIST_QUERY: Final = always(
    query({**PAGE, **dict.fromkeys(("name", "id", "status", "fields"), TEXT)})
)
