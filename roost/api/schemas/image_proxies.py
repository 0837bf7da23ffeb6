"""Schemas of images in the words of Compute before 2.36."""

from typing import Final

from roost.api.schemas.base import PAGE, TEXT, TIME, query
from roost.api.validation import always

_FILTERS: Final = ("name", "status", "type", "server", "minDisk", "minRam")
LIST_QUERY: Final = always(query({**dict.fromkeys(_FILTERS, TEXT), **PAGE, "changes-since": TIME}))
