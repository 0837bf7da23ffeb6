"""Policies, schemas and views of the standalone image API, in the format of Image v2."""

from collections.abc import Sequence
from typing import Any, Final
from urllib import parse

from roost.api.images import MOST_PROPERTIES
from roost.api.pagination import time
from roost.api.policy import ADMIN, Rule
from roost.api.request import Call
from roost.api.validation import MAX_INTEGER, PAGE, TEXT, UUID, always, query
from roost.image.driver import DISK_FORMATS, MEMBER_STATUSES, QUEUED, ImageMember
from roost.objects import ImageMeta

PUBLICIZE_POLICY = Rule("roost:images:publicize", ADMIN, "Make an image public.")
OTHER_OWNER_POLICY = Rule(
    "roost:images:create:other_owner", ADMIN, "Give an image to another project."
)


VISIBILITIES: Final = ("public", "private", "shared", "community")
CONTAINER_FORMATS: Final = ("bare", "ovf", "ova", "aki", "ari", "ami", "docker", "compressed")
# The fields of an image that users cannot set.
READ_ONLY: Final = frozenset(
    {
        *("status", "size", "virtual_size", "checksum", "os_hash_algo", "os_hash_value"),
        *("created_at", "updated_at", "self", "file", "schema", "direct_url", "locations"),
    }
)
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

# The fields that users may set; all other members of a body are properties.
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
WHOLE: Final = always(DOCUMENT)  # the image after a patch
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


def full(image: ImageMeta) -> dict[str, Any]:
    """Return an image; its properties are at the same level as its fields."""
    return {
        **image.properties,
        "id": image.id,
        "name": image.name,
        "status": image.status,
        "visibility": image.visibility,
        "owner": image.owner,
        "disk_format": image.disk_format,
        "container_format": image.container_format,
        "size": None if image.status == QUEUED else image.size,
        "os_hash_algo": image.hash_algo,
        "os_hash_value": image.hash_value,
        "checksum": None,
        "min_ram": image.min_ram,
        "min_disk": image.min_disk,
        "protected": image.protected,
        "os_hidden": False,
        "tags": list(image.tags),
        "created_at": time(image.created_at),
        "updated_at": time(image.updated_at),
        "self": f"/v2/images/{image.id}",
        "file": f"/v2/images/{image.id}/file",
        "schema": "/v2/schemas/image",
    }


def full_list(call: Call, page: Sequence[ImageMeta], *, more: bool) -> dict[str, Any]:
    """Return a page of images."""
    shown: dict[str, Any] = {
        "images": [full(image) for image in page],
        "first": "/v2/images",
        "schema": "/v2/schemas/images",
    }
    if more:
        query = [(n, v) for n, values in call.query.values.items() for v in values if n != "marker"]
        shown["next"] = f"/v2/images?{parse.urlencode([*query, ('marker', page[-1].id)])}"
    return shown


def member(image_id: str, one: ImageMember) -> dict[str, Any]:
    """Return a member of an image."""
    return {
        "image_id": image_id,
        "member_id": one.project_id,
        "status": one.status,
        "created_at": time(one.created_at),
        "updated_at": time(one.updated_at),
        "schema": "/v2/schemas/member",
    }
