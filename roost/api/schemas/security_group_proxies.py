"""Schemas of security groups in the words of Compute before 2.36."""

from typing import Final

from roost.api.schemas.base import (
    NAME,
    OPTIONAL_TEXT,
    TEXT,
    UUID,
    WHOLE_NUMBER,
    number,
    of,
    query,
    wrapped,
)
from roost.api.validation import always

LIST_QUERY: Final = always(
    query({"all_tenants": TEXT, "limit": WHOLE_NUMBER, "offset": WHOLE_NUMBER})
)
_GROUP: Final = of({"name": NAME, "description": OPTIONAL_TEXT}, required=["name", "description"])
CREATE: Final = always(wrapped("security_group", _GROUP))
UPDATE: Final = always(wrapped("security_group", _GROUP))
_PORT: Final = {"anyOf": [number(-1, 65535), {"type": "null"}]}
CREATE_RULE: Final = always(
    wrapped(
        "security_group_rule",
        of(
            {
                "parent_group_id": UUID,
                "ip_protocol": {"enum": [None, "tcp", "udp", "icmp", "TCP", "UDP", "ICMP"]},
                "from_port": _PORT,
                "to_port": _PORT,
                "cidr": OPTIONAL_TEXT,
                "group_id": {"anyOf": [UUID, {"type": "null"}]},
            },
            required=["parent_group_id"],
        ),
    )
)
