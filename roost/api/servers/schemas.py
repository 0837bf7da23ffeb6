"""Schemas of servers: create, update and list."""

from typing import Any, Final

from roost.api.compute.flavors import REFERENCE
from roost.api.servers.metadata import METADATA
from roost.api.servers.tags import TAG, TAGS
from roost.api.validation import (
    BOOLEAN,
    EVER,
    MAX_INTEGER,
    NAME,
    OPTIONAL_TEXT,
    PAGE,
    SORT_DIRECTION,
    STRICT_QUERIES,
    TEXT,
    TIME,
    UUID,
    Schema,
    grown,
    number,
    of,
    query,
)

NO_PERSONALITY: Final = 57
NETWORKS_REQUIRED: Final = 37
HOSTNAME: Final = 90
FQDN: Final = 94

_LEGACY_DEVICES = {"type": "array", "maxItems": 64, "items": {"type": "object"}}
_DEVICE: dict[str, Any] = {
    "source_type": {"type": "string", "enum": ["volume", "image", "snapshot", "blank"]},
    "destination_type": {"type": "string", "enum": ["volume", "local"]},
    "uuid": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[a-zA-Z0-9._-]*$"},
    "image_id": UUID,
    "volume_id": UUID,
    "snapshot_id": UUID,
    "volume_size": {
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": MAX_INTEGER},
            {"type": "string", "pattern": "^[1-9][0-9]{0,8}$"},
            {"type": "null"},
        ]
    },
    "boot_index": {
        "anyOf": [
            {"type": "integer", "minimum": -MAX_INTEGER, "maximum": MAX_INTEGER},
            {"type": "string", "pattern": "^-?[0-9]{1,9}$"},
            {"type": "null"},
        ]
    },
    "guest_format": OPTIONAL_TEXT,
    "device_name": {"type": ["string", "null"], "maxLength": 255, "pattern": "^[a-zA-Z0-9._/-]*$"},
    "device_type": OPTIONAL_TEXT,
    "disk_bus": OPTIONAL_TEXT,
    "no_device": {},
    "delete_on_termination": BOOLEAN,
}
_TAGGED_DEVICE = {**_DEVICE, "tag": TAG}
_TYPED_DEVICE = {**_TAGGED_DEVICE, "volume_type": OPTIONAL_TEXT}
_FILE = of(
    {"path": {"type": "string"}, "contents": {"type": "string", "format": "base64"}},
    required=["path", "contents"],
)
FILES = {"type": "array", "maxItems": 1024, "items": _FILE}
CERTIFICATES = {
    "type": ["array", "null"],
    "minItems": 1,
    "maxItems": 50,
    "uniqueItems": True,
    "items": {"type": "string", "minLength": 1, "maxLength": 255},
}
_GROUP = {"type": "object", "properties": {"name": {**TEXT, "minLength": 1}}, "required": ["name"]}
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
HOSTNAME_TEXT = {
    "type": "string",
    "minLength": 2,
    "maxLength": 63,
    "pattern": r"^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$",
}
FQDN_TEXT = {
    "type": "string",
    "minLength": 2,
    "maxLength": 255,
    "pattern": r"^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?$",
}
USER_DATA = {"type": ["string", "null"], "format": "base64", "maxLength": 65535}
IP4 = {"oneOf": [{"type": "string", "format": "ipv4"}, {"const": ""}, {"type": "null"}]}
IP6 = {
    "oneOf": [
        {"type": "string", "format": "ipv6", "maxLength": 45},
        {"const": ""},
        {"type": "null"},
    ]
}
_NIC: dict[str, Any] = {
    "uuid": UUID,
    "fixed_ip": {"type": "string", "format": "ip"},
    "port": {"type": ["string", "null"], "maxLength": 255},
}
_TAGGED_NIC = {**_NIC, "tag": TAG}


def _devices(device: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "maxItems": 64, "items": of(device, required=["source_type"])}


def _networks(nic: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "maxItems": 64, "items": of(nic)}


def _networks_or_keyword(nic: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [_networks(nic), {"type": "string", "enum": ["none", "auto"]}]}


# (since, until, property, schema); later rows overrule earlier ones of the same name
_CREATE: Final = (
    (1, EVER, "name", NAME),
    (1, EVER, "imageRef", {"oneOf": [UUID, {"const": ""}]}),
    (1, EVER, "flavorRef", REFERENCE),
    (1, EVER, "adminPass", TEXT),
    (1, EVER, "metadata", METADATA),
    (1, 36, "networks", _networks(_NIC)),
    (32, 36, "networks", _networks(_TAGGED_NIC)),
    (37, 41, "networks", _networks_or_keyword(_NIC)),
    (42, EVER, "networks", _networks_or_keyword(_TAGGED_NIC)),
    (1, EVER, "OS-DCF:diskConfig", {"type": "string", "enum": ["AUTO", "MANUAL"]}),
    (1, EVER, "accessIPv4", IP4),
    (1, EVER, "accessIPv6", IP6),
    (1, EVER, "availability_zone", TEXT),
    (1, EVER, "config_drive", {"anyOf": [BOOLEAN, {"const": ""}, {"type": "null"}]}),
    (1, EVER, "key_name", {"type": ["string", "null"], "maxLength": 255}),
    (1, EVER, "min_count", {"anyOf": [number(1), {"type": "null"}]}),
    (1, EVER, "max_count", {"anyOf": [number(1), {"type": "null"}]}),
    (1, EVER, "return_reservation_id", BOOLEAN),
    (1, EVER, "user_data", USER_DATA),
    (1, EVER, "block_device_mapping", _LEGACY_DEVICES),
    (1, EVER, "block_device_mapping_v2", _devices(_DEVICE)),
    (32, 32, "block_device_mapping_v2", _devices(_TAGGED_DEVICE)),
    (42, 66, "block_device_mapping_v2", _devices(_TAGGED_DEVICE)),
    (67, EVER, "block_device_mapping_v2", _devices(_TYPED_DEVICE)),
    (1, 56, "personality", FILES),
    (1, EVER, "security_groups", {"type": "array", "maxItems": 64, "items": _GROUP}),
    (1, EVER, "os:scheduler_hints", _HINTS),
    (19, EVER, "description", OPTIONAL_TEXT),
    (52, EVER, "tags", TAGS),
    (63, EVER, "trusted_image_certificates", CERTIFICATES),
    (74, EVER, "host", {**TEXT, "minLength": 1}),
    (74, EVER, "hypervisor_hostname", {**TEXT, "minLength": 1}),
    (90, 93, "hostname", HOSTNAME_TEXT),
    (94, EVER, "hostname", FQDN_TEXT),
)
_UPDATE: Final = (
    (1, EVER, "name", NAME),
    (1, EVER, "OS-DCF:diskConfig", {"type": "string", "enum": ["AUTO", "MANUAL"]}),
    (1, EVER, "accessIPv4", IP4),
    (1, EVER, "accessIPv6", IP6),
    (19, EVER, "description", OPTIONAL_TEXT),
    (90, 93, "hostname", HOSTNAME_TEXT),
    (94, EVER, "hostname", FQDN_TEXT),
    (104, EVER, "pinned_availability_zone", {**OPTIONAL_TEXT, "minLength": 1}),
)


def _create(minor: int, properties: dict[str, Any]) -> dict[str, Any]:
    required = ["name", "flavorRef", *(["networks"] if minor >= NETWORKS_REQUIRED else [])]
    body = dict(of({"server": of(properties, required=required)}, required=["server"]))
    body["properties"] |= {"os:scheduler_hints": _HINTS, "OS-SCH-HNT:scheduler_hints": _HINTS}
    return body


def _update(minor: int, properties: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001
    return dict(of({"server": of(properties)}, required=["server"]))


CREATE: Final = grown(_CREATE, _create)
UPDATE: Final = grown(_UPDATE, _update)

# Filter in the query -> column.
FILTERS: Final = {
    "auto_disk_config": "disk_config",
    "availability_zone": "availability_zone",
    "config_drive": "config_drive",
    "flavor": "flavor_id",
    "hostname": "hostname",
    "image": "image_id",
    "image_ref": "image_id",
    "key_name": "key_name",
    "launch_index": "launch_index",
    "locked_by": "locked_by",
    "project_id": "project_id",
    "root_device_name": "root_device_name",
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
# Filters by time; a time without a fraction matches the whole second.
MOMENTS: Final = {
    "created_at": "created_at",
    "launched_at": "launched_at",
    "terminated_at": "deleted_at",
}
# Filters by a pattern.
PATTERNS: Final = {
    "name": "display_name",
    "display_name": "display_name",
    "description": "display_description",
    "display_description": "display_description",
    "access_ip_v4": "access_ip_v4",
    "access_ip_v6": "access_ip_v6",
}
ADDRESSES: Final = {"ip": 4, "ip6": 6}
IP6_SINCE: Final = 5
# Filters that all callers may use; other filters are for administrators, and else ignored.
FOR_ALL: Final = frozenset(
    {"reservation_id", "name", "status", "image", "flavor", "ip", "ip6", "locked"}
)
FOR_ALL_SINCE: Final = 83
FOR_ALL_LATER: Final = FOR_ALL | {
    "availability_zone",
    "config_drive",
    "created_at",
    "key_name",
    "launched_at",
    "power_state",
    "progress",
    "task_state",
    "terminated_at",
    "user_id",
    "vm_state",
}
# Attributes that no server has: sort keys are ignored, and filters match servers without them.
_NEVER_SET: Final = ("kernel_id", "ramdisk_id")
IGNORED_SORT_KEYS: Final = (*_NEVER_SET, "progress", "vcpu_weight")
# Before 2.75 these are ignored, too, and "locked" before 2.73.
_FORMER_SORT_KEYS: Final = (
    "architecture",
    "cell_name",
    "cleaned",
    "default_ephemeral_device",
    "default_swap_device",
    "deleted",
    "deleted_at",
    "disable_terminate",
    "ephemeral_gb",
    "ephemeral_key_uuid",
    "id",
    "key_data",
    "launched_on",
    "locked",
    "memory_mb",
    "os_type",
    "reservation_id",
    "root_gb",
    "shutdown_terminate",
    "user_data",
    "vcpus",
    "vm_mode",
)
SORT_KEYS: Final = {
    "access_ip_v4": "access_ip_v4",
    "access_ip_v6": "access_ip_v6",
    "auto_disk_config": "disk_config",
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
    "locked_by": "locked_by",
    "node": "node",
    "power_state": "power_state",
    "project_id": "project_id",
    "root_device_name": "root_device_name",
    "task_state": "task_state",
    "terminated_at": "deleted_at",
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
    **dict.fromkeys(MOMENTS, TIME),
    **dict.fromkeys((*PATTERNS, *ADDRESSES, *_NEVER_SET), TEXT),
    "progress": {"type": "string", "pattern": "^[0-9]{1,9}$"},
    "status": TEXT,
    "deleted": TEXT,
    "soft_deleted": TEXT,
    "all_tenants": TEXT,
    "changes-since": TIME,
    "sort_key": {
        "type": "string",
        "enum": [*SORT_KEYS, *IGNORED_SORT_KEYS, *_FORMER_SORT_KEYS],
    },
    "sort_dir": SORT_DIRECTION,
}
_TAG_FILTERS = dict.fromkeys(("tags", "tags-any", "not-tags", "not-tags-any"), TEXT)
_LATER = {"changes-before": TIME}
LOCKED_SINCE: Final = 73
_LOCKED = {"locked": TEXT}
_STRICT = {
    **_LIST,
    **_TAG_FILTERS,
    **_LATER,
    **_LOCKED,
    "sort_key": {"type": "string", "enum": [*SORT_KEYS, *IGNORED_SORT_KEYS, "locked"]},
}

LIST_QUERY: Final = Schema(
    {
        1: query(_LIST),
        26: query({**_LIST, **_TAG_FILTERS}),
        66: query({**_LIST, **_TAG_FILTERS, **_LATER}),
        LOCKED_SINCE: query({**_LIST, **_TAG_FILTERS, **_LATER, **_LOCKED}),
        STRICT_QUERIES: query(_STRICT, strict=True),
    }
)
