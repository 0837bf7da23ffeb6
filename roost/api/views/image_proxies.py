"""Images as Compute's JSON before 2.36."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from roost.api.views.base import links, time
from roost.objects import ImageMeta

# Of an image, where Compute begins, and where the image service does.
View = Callable[[ImageMeta, str, str], dict[str, Any]]
# What the image service calls a state -> what Compute does, and how far that is in percent.
_STATES: Final[Mapping[str, tuple[str, int]]] = {
    "queued": ("SAVING", 25),
    "saving": ("SAVING", 50),
    "active": ("ACTIVE", 100),
    "killed": ("ERROR", 0),
    "deleted": ("DELETED", 0),
    "pending_delete": ("DELETED", 0),
}


def status(image: ImageMeta) -> str:
    return _STATES.get(image.status, ("UNKNOWN", 0))[0]


def brief(image: ImageMeta, base_url: str, root: str) -> dict[str, Any]:
    """Return an image of a plain list."""
    return {"id": image.id, "name": image.name, "links": _links(image, base_url, root)}


def full(image: ImageMeta, base_url: str, root: str) -> dict[str, Any]:
    return {
        **brief(image, base_url, root),
        "status": status(image),
        "progress": _STATES.get(image.status, ("UNKNOWN", 0))[1],
        "created": time(image.created_at),
        "updated": time(image.updated_at),
        "minDisk": image.min_disk,
        "minRam": image.min_ram,
        "metadata": dict(image.properties),
        "OS-EXT-IMG-SIZE:size": image.size,
        **_server(image, base_url),
    }


def _server(image: ImageMeta, base_url: str) -> dict[str, Any]:
    uuid = image.properties.get("instance_uuid")
    return {"server": {"id": uuid, "links": links(base_url, "servers", uuid)}} if uuid else {}


def _links(image: ImageMeta, base_url: str, root: str) -> list[dict[str, Any]]:
    alternate = f"{root}/images/{image.id}"
    kind = "application/vnd.openstack.image"
    return [
        *links(base_url, "images", image.id),
        {"rel": "alternate", "type": kind, "href": alternate},
    ]
