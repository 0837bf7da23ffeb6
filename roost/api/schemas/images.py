"""Schemas of the images that servers boot from."""

from typing import Any, Final

from roost.api.schemas.base import MAX_INTEGER, PAGE, TEXT, UUID, query
from roost.api.validation import always
from roost.image.driver import DISK_FORMATS, MEMBER_STATUSES

VISIBILITIES: Final = ("public", "private", "shared", "community")
CONTAINER_FORMATS: Final = ("bare", "ovf", "ova", "aki", "ari", "ami", "docker", "compressed")
# What an image has beside its properties, and no user can set.
READ_ONLY: Final = frozenset(
    {
        *("status", "size", "virtual_size", "checksum", "os_hash_algo", "os_hash_value"),
        *("created_at", "updated_at", "self", "file", "schema", "direct_url", "locations"),
    }
)
MOST_PROPERTIES: Final = 128
MOST_TAGS: Final = 128
MOST_MEMBERS: Final = 128
PATCH_KINDS: Final = (
    "application/openstack-images-v2.1-json-patch",
    "application/openstack-images-v2.0-json-patch",
)

_VALUES: Final = {"type": "string", "maxLength": 65536}  # ``in:`` and many values
_SIZE: Final = {"type": "integer", "minimum": 0, "maximum": MAX_INTEGER}
_TAG: Final = {"type": "string", "minLength": 1, "maxLength": 255}
_NO: Final = {"type": "boolean", "enum": [False]}

_LIST: dict[str, Any] = {
    **PAGE,
    **dict.fromkeys(
        ("name", "id", "status", "visibility", "owner", "disk_format", "container_format"), _VALUES
    ),
    "tag": TEXT,
    "member_status": {"enum": [*MEMBER_STATUSES, "all"]},
    "protected": TEXT,
    "sort": TEXT,
    "sort_key": TEXT,
    "sort_dir": TEXT,
}
LIST_QUERY: Final = always(query(_LIST))

# What a user may set; all else that a body has are properties.
FIELDS: Final[dict[str, Any]] = {
    "id": UUID,
    "name": {"type": ["string", "null"], "maxLength": 255},
    "visibility": {"enum": list(VISIBILITIES)},
    "owner": {"type": ["string", "null"], "maxLength": 255},
    "disk_format": {"enum": sorted(DISK_FORMATS)},
    "container_format": {"enum": list(CONTAINER_FORMATS)},
    "min_ram": _SIZE,
    "min_disk": _SIZE,
    "protected": {"type": "boolean"},
    "os_hidden": _NO,
    "tags": {"type": "array", "maxItems": MOST_TAGS, "items": _TAG},
}
PROPERTY: Final = {"type": "string", "maxLength": 65535}
DOCUMENT: Final = {
    "type": "object",
    "properties": FIELDS,
    "propertyNames": {"minLength": 1, "maxLength": 255, "not": {"enum": sorted(READ_ONLY)}},
    "additionalProperties": PROPERTY,
    "maxProperties": MOST_PROPERTIES + len(FIELDS),
}
TAG_CHECK: Final = always(_TAG)
MEMBER_CREATE: Final = always(
    {"type": "object", "properties": {"member": _TAG}, "required": ["member"]}
)
MEMBER_UPDATE: Final = always(
    {
        "type": "object",
        "properties": {"status": {"enum": list(MEMBER_STATUSES)}},
        "required": ["status"],
    }
)
CREATE: Final = always(DOCUMENT)
WHOLE: Final = always(DOCUMENT)  # what a patch may make of it
PATCH: Final = always(
    {
        "type": "array",
        "maxItems": 2 * MOST_PROPERTIES,
        "items": {
            "type": "object",
            "properties": {
                "op": {"enum": ["add", "replace", "remove"]},
                "path": {"type": "string", "pattern": "^/[^/]+$", "maxLength": 256},
                "value": {},
            },
            "required": ["op", "path"],
        },
    }
)
