"""Schemas of hypervisors."""

from typing import Any, Final

from roost.api.schemas.base import BOOLEAN, PAGE, STRICT_QUERIES, TEXT, query
from roost.api.validation import Schema

PAGES: Final = 33
UUIDS: Final = 53  # since 2.53 ids are uuids, and queries do what paths did before

_SERVERS: dict[str, Any] = {"with_servers": {"type": "string", "enum": BOOLEAN["enum"]}}
_LIST: dict[str, Any] = {**PAGE, **_SERVERS, "hypervisor_hostname_pattern": TEXT}

LIST_QUERY: Final = Schema(
    {
        1: query({}),
        PAGES: query(PAGE),
        UUIDS: query(_LIST),
        STRICT_QUERIES: query(_LIST, strict=True),
    }
)
SHOW_QUERY: Final = Schema({1: query({}), UUIDS: query(_SERVERS, strict=True)})
