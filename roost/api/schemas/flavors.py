"""Schemas of flavors and their extra specs."""

from typing import Any, Final

from roost.api.schemas.base import (
    BOOLEAN,
    MAX_INTEGER,
    NAME,
    PAGE,
    SORT_DIRECTION,
    STRICT_QUERIES,
    TEXT,
    WHOLE_NUMBER,
    number,
    of,
    query,
    wrapped,
)
from roost.api.validation import Schema, always
from roost.db.api.flavors import SORT_KEYS

DESCRIPTION: Final = 55  # since 2.55 flavors are described
NAMES: Final = 102  # since 2.102 lists are filtered by name, and nothing takes a rxtx_factor

_ID = {
    "oneOf": [
        {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "pattern": r"^(?! )[a-zA-Z0-9. _-]*(?<! )$",
        },
        {"type": "integer", "minimum": 0, "maximum": MAX_INTEGER},
        {"type": "null"},
    ]
}
_DESCRIPTION = {"type": ["string", "null"], "maxLength": 65535}
_CREATE: dict[str, Any] = {
    "name": NAME,
    "id": _ID,
    "ram": number(1),
    "vcpus": number(1),
    "disk": number(0),
    "swap": {"anyOf": [number(0), {"const": ""}]},
    "OS-FLV-EXT-DATA:ephemeral": number(0),
    "rxtx_factor": {
        "oneOf": [
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1e9},
            {"type": "string", "pattern": r"^[0-9]{1,9}(\.[0-9]{1,9})?$"},
        ]
    },
    "os-flavor-access:is_public": BOOLEAN,
}
_REQUIRED = ["name", "ram", "vcpus", "disk"]
_KEY = r"^[a-zA-Z0-9\-_:. ]{1,255}$"
_SPEC_VALUE = {"type": ["string", "number"], "maxLength": 255, "minimum": -1e15, "maximum": 1e15}


def _specs(**more: int) -> dict[str, Any]:
    return {
        "type": "object",
        "patternProperties": {_KEY: _SPEC_VALUE},
        "additionalProperties": False,
        "maxProperties": 128,
        **more,
    }


_DESCRIBED = {**_CREATE, "description": _DESCRIPTION}
_LEAN = {name: value for name, value in _DESCRIBED.items() if name != "rxtx_factor"}
CREATE: Final = Schema(
    {
        1: wrapped("flavor", of(_CREATE, required=_REQUIRED)),
        DESCRIPTION: wrapped("flavor", of(_DESCRIBED, required=_REQUIRED)),
        NAMES: wrapped("flavor", of(_LEAN, required=_REQUIRED)),
    }
)
UPDATE: Final = always(
    wrapped("flavor", of({"description": _DESCRIPTION}, required=["description"]))
)
CREATE_SPECS: Final = always(wrapped("extra_specs", _specs()))
UPDATE_SPEC: Final = always(_specs(minProperties=1, maxProperties=1))
_TENANT = of(
    {"tenant": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[a-zA-Z0-9-]+$"}},
    required=["tenant"],
)
ACTION: Final = always(
    {
        **of({"addTenantAccess": _TENANT, "removeTenantAccess": _TENANT}),
        "minProperties": 1,
        "maxProperties": 1,
    }
)
_LIST: dict[str, Any] = {
    **PAGE,
    "is_public": TEXT,
    "minRam": WHOLE_NUMBER,
    "minDisk": WHOLE_NUMBER,
    "sort_key": {"enum": [*SORT_KEYS]},
    "sort_dir": SORT_DIRECTION,
}
_LEAN_KEYS = {"enum": [key for key in SORT_KEYS if key != "rxtx_factor"]}
LIST_QUERY: Final = Schema(
    {
        1: query(_LIST),
        STRICT_QUERIES: query(_LIST, strict=True),
        NAMES: query({**_LIST, "name": TEXT, "sort_key": _LEAN_KEYS}, strict=True),
    }
)
