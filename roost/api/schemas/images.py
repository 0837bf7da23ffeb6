"""Schemas of the images that servers boot from."""

from typing import Any, Final

from roost.api.schemas.base import PAGE, TEXT, query
from roost.api.validation import always

_VALUES: Final = {"type": "string", "maxLength": 65536}  # ``in:`` and many values

_LIST: dict[str, Any] = {
    **PAGE,
    **dict.fromkeys(
        ("name", "id", "status", "visibility", "owner", "disk_format", "container_format"), _VALUES
    ),
    "sort": TEXT,
    "sort_key": TEXT,
    "sort_dir": TEXT,
}
LIST_QUERY: Final = always(query(_LIST))
