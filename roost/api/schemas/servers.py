"""Schemas of servers."""

from typing import Any, Final

from roost.api.schemas.base import (
    BOOLEAN,
    NAME,
    OPTIONAL_TEXT,
    PAGE,
    SORT_DIRECTION,
    STRICT_QUERIES,
    TEXT,
    TIME,
    UUID,
    number,
    of,
    query,
)
from roost.api.validation import Schema, always, grown

NO_PERSONALITY: Final = 57
NETWORKS_REQUIRED: Final = 37
TAGS: Final = 52
HOSTNAME: Final = 90
FQDN: Final = 94

_BLOCK_DEVICES = {"type": "array", "maxItems": 64, "items": {"type": "object"}}
_HINTS = {
    "type": ["object", "null"],
    "maxProperties": 64,
    "additionalProperties": {
        "anyOf": [
            {"type": ["string", "number", "boolean", "null"], "maxLength": 255},
            {"type": "array", "maxItems": 64, "items": {"type": "string", "maxLength": 255}},
        ]
    },
}
METADATA = {
    "type": "object",
    "propertyNames": {"minLength": 1, "maxLength": 255},
    "additionalProperties": {"type": "string", "maxLength": 255},
    "maxProperties": 128,
}
_TAG = {"type": "string", "minLength": 1, "maxLength": 60, "pattern": "^[^,/]*$"}
_HOSTNAME = {
    "type": "string",
    "minLength": 2,
    "maxLength": 63,
    "pattern": r"^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$",
}
_FQDN = {
    "type": "string",
    "minLength": 2,
    "maxLength": 255,
    "pattern": r"^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?$",
}
_USER_DATA = {"type": ["string", "null"], "format": "base64", "maxLength": 65535}
_IP4 = {"oneOf": [{"type": "string", "format": "ipv4"}, {"const": ""}, {"type": "null"}]}
_IP6 = {
    "oneOf": [
        {"type": "string", "format": "ipv6", "maxLength": 39},
        {"const": ""},
        {"type": "null"},
    ]
}
_NIC: dict[str, Any] = {
    "uuid": UUID,
    "fixed_ip": {"type": "string", "format": "ip"},
    "port": {"type": ["string", "null"], "maxLength": 255},
}
_TAGGED_NIC = {**_NIC, "tag": _TAG}


def _networks(nic: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "maxItems": 64, "items": of(nic)}


def _networks_or_word(nic: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [_networks(nic), {"type": "string", "enum": ["none", "auto"]}]}


# (since, until, property, schema); later rows overrule earlier ones of the same name
_CREATE: Final = (
    (1, 96, "name", NAME),
    (1, 96, "imageRef", {"oneOf": [UUID, {"const": ""}]}),
    (1, 96, "flavorRef", {"type": ["string", "integer"], "minLength": 1, "maxLength": 255}),
    (1, 96, "adminPass", TEXT),
    (1, 96, "metadata", METADATA),
    (1, 36, "networks", _networks(_NIC)),
    (32, 36, "networks", _networks(_TAGGED_NIC)),
    (37, 41, "networks", _networks_or_word(_NIC)),
    (42, 96, "networks", _networks_or_word(_TAGGED_NIC)),
    (1, 96, "OS-DCF:diskConfig", {"type": "string", "enum": ["AUTO", "MANUAL"]}),
    (1, 96, "accessIPv4", _IP4),
    (1, 96, "accessIPv6", _IP6),
    (1, 96, "availability_zone", TEXT),
    (1, 96, "config_drive", {"anyOf": [BOOLEAN, {"const": ""}, {"type": "null"}]}),
    (1, 96, "key_name", {"type": ["string", "null"], "maxLength": 255}),
    (1, 96, "min_count", {"anyOf": [number(1), {"type": "null"}]}),
    (1, 96, "max_count", {"anyOf": [number(1), {"type": "null"}]}),
    (1, 96, "return_reservation_id", BOOLEAN),
    (1, 96, "user_data", _USER_DATA),
    (1, 96, "block_device_mapping", _BLOCK_DEVICES),
    (1, 96, "block_device_mapping_v2", _BLOCK_DEVICES),
    (1, 56, "personality", {"type": ["array", "null"], "maxItems": 64}),
    (
        1,
        96,
        "security_groups",
        {"type": "array", "maxItems": 64, "items": {"type": "object"}},
    ),
    (1, 96, "os:scheduler_hints", _HINTS),
    (19, 96, "description", OPTIONAL_TEXT),
    (52, 96, "tags", {"type": "array", "maxItems": 50, "uniqueItems": True, "items": _TAG}),
    (63, 96, "trusted_image_certificates", {"type": ["array", "null"], "maxItems": 50}),
    (74, 96, "host", {**TEXT, "minLength": 1}),
    (74, 96, "hypervisor_hostname", {**TEXT, "minLength": 1}),
    (90, 93, "hostname", _HOSTNAME),
    (94, 96, "hostname", _FQDN),
)
_UPDATE: Final = (
    (1, 96, "name", NAME),
    (1, 96, "OS-DCF:diskConfig", {"type": "string", "enum": ["AUTO", "MANUAL"]}),
    (1, 96, "accessIPv4", _IP4),
    (1, 96, "accessIPv6", _IP6),
    (19, 96, "description", OPTIONAL_TEXT),
    (90, 93, "hostname", _HOSTNAME),
    (94, 96, "hostname", _FQDN),
)


def _create(minor: int, properties: dict[str, Any]) -> dict[str, Any]:
    required = ["name", "flavorRef", *(["networks"] if minor >= NETWORKS_REQUIRED else [])]
    body = dict(of({"server": of(properties, required=required)}, required=["server"]))
    body["properties"] |= {"os:scheduler_hints": _HINTS, "OS-SCH-HNT:scheduler_hints": _HINTS}
    return body


def _update(minor: int, properties: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001
    inner = {**of(properties), "minProperties": 1}
    return dict(of({"server": inner}, required=["server"]))


CREATE: Final = grown(_CREATE, _create)
UPDATE: Final = grown(_UPDATE, _update)

# What the query calls a filter, and the column that it asks for.
FILTERS: Final = {
    "availability_zone": "availability_zone",
    "config_drive": "config_drive",
    "flavor": "flavor_id",
    "hostname": "hostname",
    "image": "image_id",
    "key_name": "key_name",
    "launch_index": "launch_index",
    "project_id": "project_id",
    "tenant_id": "project_id",
    "reservation_id": "reservation_id",
    "task_state": "task_state",
    "user_id": "user_id",
    "uuid": "uuid",
    "vm_state": "vm_state",
    "power_state": "power_state",
    "host": "host",
    "node": "node",
}
SORT_KEYS: Final = {
    "availability_zone": "availability_zone",
    "config_drive": "config_drive",
    "created_at": "created_at",
    "display_description": "display_description",
    "display_name": "display_name",
    "name": "display_name",
    "host": "host",
    "hostname": "hostname",
    "image_ref": "image_id",
    "instance_type_id": "flavor_id",
    "key_name": "key_name",
    "launch_index": "launch_index",
    "launched_at": "launched_at",
    "node": "node",
    "power_state": "power_state",
    "project_id": "project_id",
    "task_state": "task_state",
    "updated_at": "updated_at",
    "user_id": "user_id",
    "uuid": "uuid",
    "vm_state": "vm_state",
}
_LIST: dict[str, Any] = {
    **PAGE,
    **dict.fromkeys(FILTERS, TEXT),
    "launch_index": {"type": "string", "pattern": "^[0-9]{1,9}$"},
    "power_state": {"type": "string", "pattern": "^[0-9]{1,9}$"},
    "name": TEXT,
    "description": TEXT,
    "status": TEXT,
    "deleted": TEXT,
    "all_tenants": TEXT,
    "changes-since": TIME,
    "sort_key": {"type": "string", "enum": [*SORT_KEYS]},
    "sort_dir": SORT_DIRECTION,
}
# Filters of things that no server of ours has: known, and of no effect.
_MEANINGLESS = ("ip", "ip6", "locked", "auto_disk_config", "progress", "root_device_name")
_TAG_FILTERS = dict.fromkeys(("tags", "tags-any", "not-tags", "not-tags-any"), TEXT)
_LATER = {"changes-before": TIME}

LIST_QUERY: Final = Schema(
    {
        1: query(_LIST),
        26: query({**_LIST, **_TAG_FILTERS}),
        66: query({**_LIST, **_TAG_FILTERS, **_LATER}),
        STRICT_QUERIES: query(
            {**_LIST, **_TAG_FILTERS, **_LATER, **dict.fromkeys(_MEANINGLESS, TEXT)}, strict=True
        ),
    }
)
ACTION: Final = always({"type": "object", "minProperties": 1, "maxProperties": 1})
