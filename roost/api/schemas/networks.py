"""Schemas of the networks, subnets and ports of the local driver."""

from typing import Any, Final

from roost.api.schemas.base import OPTIONAL_TEXT, PAGE, TEXT, UUID, of, query, wrapped
from roost.api.validation import always

_FIELDS: Final = {"fields": TEXT, "sort_key": TEXT, "sort_dir": TEXT}
_PROJECT: Final = {"project_id": TEXT, "tenant_id": TEXT}
_YES: Final = {"type": "boolean", "enum": [True]}
_FLAG: Final = {"type": "boolean"}
_NO: Final = {"type": "boolean", "enum": [False]}
_NOTHING: Final = {"type": "array", "maxItems": 0}
_NAMED: Final[dict[str, Any]] = {"name": TEXT, "description": TEXT, **_PROJECT}
_MAC: Final = {"type": "string", "pattern": "^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$"}

MOST_TAGS: Final = 128
_TAG: Final = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[^,]+$"}
TAG_CHECK: Final = always(_TAG)
REPLACE_TAGS: Final = always(
    wrapped("tags", {"type": "array", "items": _TAG, "maxItems": MOST_TAGS})
)
_TAG_FILTERS: Final = dict.fromkeys(("tags", "tags-any", "not-tags", "not-tags-any"), TEXT)

LIST_QUERY: Final = always(
    query(
        {
            **PAGE,
            **_FIELDS,
            **_PROJECT,
            **_TAG_FILTERS,
            **dict.fromkeys(("name", "id", "status", "description"), TEXT),
            **dict.fromkeys(("shared", "router:external", "admin_state_up"), TEXT),
        }
    )
)
CREATE: Final = always(
    wrapped(
        "network",
        of(
            {
                **_NAMED,
                "shared": {"type": "boolean"},
                "admin_state_up": _FLAG,
                "router:external": _NO,
            }
        ),
    )
)
# Of what is there, users change words and the state; what else a body may name must be as it is.
_WORDS: Final = {"name": TEXT, "description": TEXT}
UPDATE: Final = always(wrapped("network", of({**_WORDS, "admin_state_up": _FLAG})))
UPDATE_SUBNET: Final = always(wrapped("subnet", of({"name": TEXT, "enable_dhcp": _YES})))
UPDATE_PORT: Final = always(
    wrapped("port", of({**_WORDS, "admin_state_up": _FLAG, "security_groups": _NOTHING}))
)
SUBNETS_QUERY: Final = always(
    query(
        {
            **PAGE,
            **_FIELDS,
            **_PROJECT,
            **_TAG_FILTERS,
            **dict.fromkeys(
                ("name", "id", "network_id", "cidr", "ip_version", "enable_dhcp"), TEXT
            ),
        }
    )
)
CREATE_SUBNET: Final = always(
    wrapped(
        "subnet",
        of(
            {
                "name": TEXT,
                **_PROJECT,
                "network_id": UUID,
                "cidr": {"type": "string", "maxLength": 64},
                "ip_version": {"enum": [4, 6]},
                "gateway_ip": OPTIONAL_TEXT,
                "enable_dhcp": _YES,
            },
            required=["network_id", "cidr"],
        ),
    )
)
PORTS_QUERY: Final = always(
    query(
        {
            **PAGE,
            **_FIELDS,
            **_PROJECT,
            **_TAG_FILTERS,
            **dict.fromkeys(
                (
                    *("id", "name", "network_id", "device_id", "device_owner", "mac_address"),
                    *("fixed_ips", "status", "description"),
                ),
                TEXT,
            ),
        }
    )
)
_FIXED_IP: Final = of({"ip_address": {"type": "string", "format": "ip"}, "subnet_id": UUID})
CREATE_PORT: Final = always(
    wrapped(
        "port",
        of(
            {
                **_NAMED,
                "network_id": UUID,
                "fixed_ips": {"type": "array", "items": _FIXED_IP, "maxItems": 1},
                "mac_address": _MAC,
                "admin_state_up": _FLAG,
                "security_groups": _NOTHING,
            },
            required=["network_id"],
        ),
    )
)
