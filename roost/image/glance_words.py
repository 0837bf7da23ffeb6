"""An image in the words of the Images API v2, there and back."""

import datetime
import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from roost import exception
from roost.image.driver import Member
from roost.objects import ImageMeta

# All that is not a property. Who creates an image may not use these names for one, either.
_FIELDS: Final = frozenset(
    {
        "checksum",
        "container_format",
        "created_at",
        "direct_url",
        "disk_format",
        "file",
        "id",
        "locations",
        "min_disk",
        "min_ram",
        "name",
        "os_hash_algo",
        "os_hash_value",
        "os_hidden",
        "owner",
        "protected",
        "schema",
        "self",
        "size",
        "status",
        "stores",
        "tags",
        "updated_at",
        "validation_data",
        "virtual_size",
        "visibility",
    }
)
_RESERVED: Final = "os_glance"  # properties of this prefix are Glance's own
_HASH: Final = re.compile(r"[0-9a-f]{32,128}", re.ASCII)
_MD5: Final = "md5"


def image_of(found: Mapping[str, Any]) -> ImageMeta:
    """Return the image that an answer describes.

    :raises roost.exception.Unavailable: when this is no image, so that somebody else has answered
    """
    try:
        return _image_of(found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise exception.Unavailable("What Glance answers is no image.", why=repr(error)) from error


def member_of(found: Mapping[str, Any]) -> Member:
    """Return a project that an answer names as one that an image is shared with.

    :raises roost.exception.Unavailable: when this is no member, so that somebody else has answered
    """
    try:
        times = [datetime.datetime.fromisoformat(found[at]) for at in ("created_at", "updated_at")]
        return Member(str(found["member_id"]), str(found["status"]), *times)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise exception.Unavailable("What Glance answers is no member.", why=repr(error)) from error


def document_of(image: ImageMeta) -> dict[str, Any]:
    """Return what creates this image; its data makes the rest known."""
    own = {
        "id": image.id,
        "name": image.name,
        "visibility": image.visibility,
        "disk_format": image.disk_format or None,
        "container_format": image.container_format or None,
        "min_ram": image.min_ram,
        "min_disk": image.min_disk,
    }
    return _properties(image.properties) | own


def patch_of(before: Mapping[str, str], after: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the JSON patch that changes the properties of an image.

    :raises roost.exception.Invalid: for a name that is that of something else
    """
    for name in after.keys() - before.keys():
        if name in _FIELDS or name.startswith(_RESERVED):
            raise exception.Invalid(f"An image cannot have a property of the name {name!r}.")
    removed = [{"op": "remove", "path": _path(name)} for name in before if name not in after]
    changed = [
        {"op": "replace" if name in before else "add", "path": _path(name), "value": value}
        for name, value in after.items()
        if before.get(name) != value
    ]
    return removed + changed


def _path(name: str) -> str:
    """Return where a property is, as JSON pointers say it."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _image_of(found: Mapping[str, Any]) -> ImageMeta:
    algorithm, value = _hash(found)
    return ImageMeta.of(
        id=str(found["id"]),
        name=found.get("name") or "",
        status=found["status"],
        visibility=found["visibility"],
        owner=found.get("owner"),
        disk_format=found.get("disk_format") or "",
        container_format=found.get("container_format") or "",
        size=found.get("size") or 0,
        hash_algo=algorithm,
        hash_value=value,
        virtual_size=found.get("virtual_size") or 0,
        min_ram=found.get("min_ram") or 0,
        min_disk=found.get("min_disk") or 0,
        properties=_properties(found),
        created_at=datetime.datetime.fromisoformat(found["created_at"]),
        updated_at=datetime.datetime.fromisoformat(found["updated_at"]),
    )


def _hash(found: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the best hash that we can check. It names a file, so it must look like one."""
    named = (found.get("os_hash_algo"), found.get("os_hash_value"))
    for algorithm, value in (named, (_MD5, found.get("checksum"))):
        if algorithm in hashlib.algorithms_guaranteed and _HASH.fullmatch(value or ""):
            return algorithm, value
    return None, None


def _properties(values: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: str(value)
        for name, value in values.items()
        if name not in _FIELDS and not name.startswith(_RESERVED) and value is not None
    }
