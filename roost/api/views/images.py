"""Images as JSON, in the shapes of Image v2."""

from collections.abc import Sequence
from typing import Any
from urllib import parse

from roost.api.call import Call
from roost.api.views.base import time
from roost.image.driver import QUEUED, Member
from roost.objects import ImageMeta


def full(image: ImageMeta) -> dict[str, Any]:
    """Return an image; its properties stand beside its own fields."""
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


def member(image_id: str, one: Member) -> dict[str, Any]:
    """Return a project that an image is shared with."""
    return {
        "image_id": image_id,
        "member_id": one.project_id,
        "status": one.status,
        "created_at": time(one.created_at),
        "updated_at": time(one.updated_at),
        "schema": "/v2/schemas/member",
    }
