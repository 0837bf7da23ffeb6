"""Schemas of the security groups of the network API."""

from typing import Any, Final

from roost.api.schemas.base import NAME, PAGE, TEXT, UUID, of, query, wrapped
from roost.api.validation import always
from roost.security_groups import EGRESS, ETHERTYPES, INGRESS

_FIELDS: Final = {"fields": TEXT, "sort_key": TEXT, "sort_dir": TEXT}
_PROJECT: Final = {"project_id": TEXT, "tenant_id": TEXT}
_YES: Final = {"type": "boolean", "enum": [True]}
_NUMBER: Final = {"type": ["integer", "null"], "minimum": 0, "maximum": 65535}
_WORDS: Final[dict[str, Any]] = {"name": NAME, "description": TEXT, "stateful": _YES}

LIST_QUERY: Final = always(
    query({**PAGE, **_FIELDS, **_PROJECT, **dict.fromkeys(("id", "name", "description"), TEXT)})
)
CREATE: Final = always(wrapped("security_group", of({**_WORDS, **_PROJECT}, required=["name"])))
UPDATE: Final = always(wrapped("security_group", of(_WORDS)))
RULES_QUERY: Final = always(
    query(
        {
            **PAGE,
            **_FIELDS,
            **_PROJECT,
            **dict.fromkeys(
                (
                    *("id", "security_group_id", "direction", "ethertype", "protocol"),
                    *("port_range_min", "port_range_max", "remote_ip_prefix", "remote_group_id"),
                    "description",
                ),
                TEXT,
            ),
        }
    )
)
CREATE_RULE: Final = always(
    wrapped(
        "security_group_rule",
        of(
            {
                "security_group_id": UUID,
                "direction": {"enum": [INGRESS, EGRESS]},
                "ethertype": {"enum": [*ETHERTYPES]},
                "protocol": {
                    "type": ["string", "integer", "null"],
                    "maxLength": 32,
                    "minimum": 0,
                    "maximum": 255,
                },
                "port_range_min": _NUMBER,
                "port_range_max": _NUMBER,
                "remote_ip_prefix": {"type": ["string", "null"], "maxLength": 64},
                "remote_group_id": {"anyOf": [UUID, {"type": "null"}]},
                "description": TEXT,
                **_PROJECT,
            },
            required=["security_group_id", "direction"],
        ),
    )
)
