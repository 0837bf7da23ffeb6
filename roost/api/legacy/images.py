"""Image proxies: images until 2.35 and their metadata until 2.38, in Compute's format."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from roost import exception
from roost.api import images as store_images
from roost.api import pagination, service_catalog
from roost.api.dependencies import Dependencies
from roost.api.images import check_count, listed, own
from roost.api.pagination import self_links, time
from roost.api.policy import Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.servers import metadata
from roost.api.validation import PAGE, TEXT, TIME, always, query, timestamp
from roost.objects import ImageMeta

_QUERY_FILTERS: Final = ("name", "status", "type", "server", "minDisk", "minRam")
LIST_QUERY: Final = always(
    query({**dict.fromkeys(_QUERY_FILTERS, TEXT), **PAGE, "changes-since": TIME})
)


# (image, base URL of Compute, base URL of the image service) -> JSON
View = Callable[[ImageMeta, str, str], dict[str, Any]]
# Status of the image service -> Compute's status, and the progress in percent.
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
    return {"server": {"id": uuid, "links": self_links(base_url, "servers", uuid)}} if uuid else {}


def _links(image: ImageMeta, base_url: str, root: str) -> list[dict[str, Any]]:
    alternate = f"{root}/images/{image.id}"
    kind = "application/vnd.openstack.image"
    return [
        *self_links(base_url, "images", image.id),
        {"rel": "alternate", "type": kind, "href": alternate},
    ]


Properties = Mapping[str, str]
_Test = Callable[[ImageMeta, str], bool]


def _equal(name: str) -> _Test:
    return lambda image, asked: str(getattr(image, name)) == asked


def _since(image: ImageMeta, asked: str) -> bool:
    return bool((image.updated_at or image.created_at) >= timestamp(asked))


# Filters of the query: name -> whether an image passes; a server may be named by its URL.
_FILTERS: Final[Mapping[str, _Test]] = {
    "name": lambda image, asked: bool(image.name == asked),
    "status": lambda image, asked: status(image) == asked.upper(),
    "type": lambda image, asked: image.properties.get("image_type", "base") == asked,
    "server": lambda image, asked: (
        image.properties.get("instance_uuid", "") == asked.rpartition("/")[2]
    ),
    "minDisk": _equal("min_disk"),
    "minRam": _equal("min_ram"),
    "changes-since": _since,
}


class _Proxies:
    """The images of the store that the caller may see."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._store = dependencies.images
        self._most = dependencies.options.max_limit

    def _find(self, call: Call) -> ImageMeta:
        return self._store.get(call.context, call.params["image_id"])


class ImageProxies(_Proxies):
    """Handlers of ``/images`` of Compute."""

    def list_brief(self, call: Call) -> Answer:
        return self._list(call, brief)

    def list_detail(self, call: Call) -> Answer:
        return self._list(call, full)

    def show(self, call: Call) -> Answer:
        root = service_catalog.images_root(call, self._store)
        return Answer({"image": full(self._find(call), call.base_url, root)})

    def delete(self, call: Call) -> Answer:
        self._store.delete(call.context, own(call, self._store).id)
        return Answer()

    def _list(self, call: Call, view: View) -> Answer:
        found = [one for one in listed(call, self._store) if _passes(call, one)]
        limit = pagination.limit(call, most=self._most)
        page = pagination.after(found, call)[:limit]
        last = page[-1].id if page else ""
        root = service_catalog.images_root(call, self._store)
        shown = [view(image, call.base_url, root) for image in page]
        full = len(page) == limit
        return Answer({"images": shown, **pagination.links(call, "images", full=full, last=last)})


class ImageProxyMetadata(_Proxies):
    """Handlers of ``/images/{id}/metadata`` of Compute: an image's properties."""

    def list_all(self, call: Call) -> Answer:
        return Answer({"metadata": dict(self._find(call).properties)})

    def show(self, call: Call) -> Answer:
        found, key = self._find(call).properties, call.params["key"]
        return Answer({"meta": {key: _item(found, key)}})

    def merge(self, call: Call) -> Answer:
        """Add or change items; others stay."""
        asked = call.body["metadata"]
        return Answer({"metadata": self._write(call, lambda before: {**before, **asked})})

    def replace(self, call: Call) -> Answer:
        return Answer({"metadata": self._write(call, lambda _: dict(call.body["metadata"]))})

    def update(self, call: Call) -> Answer:
        asked = call.body["meta"]
        if call.params["key"] not in asked:
            raise exception.Invalid("Request body and URI mismatch")
        self._write(call, lambda before: {**before, **asked})
        return Answer({"meta": asked})

    def delete(self, call: Call) -> Answer:
        self._write(call, lambda before: _without(before, call.params["key"]))
        return Answer()

    def _write(self, call: Call, edit: Callable[[Properties], Properties]) -> Properties:
        def edited(before: Properties) -> Properties:
            after = edit(before)
            check_count(after)
            return after

        image_id = own(call, self._store).id
        return dict(self._store.change_properties(call.context, image_id, edited).properties)


def _passes(call: Call, image: ImageMeta) -> bool:
    asked = {name: call.query.one(name) for name in _FILTERS}
    return all(_FILTERS[name](image, value) for name, value in asked.items() if value is not None)


def _item(properties: Properties, key: str) -> str:
    if key not in properties:
        raise exception.NotFound("Metadata item was not found")
    return properties[key]


def _without(properties: Properties, key: str) -> Properties:
    _item(properties, key)
    return {name: value for name, value in properties.items() if name != key}


_LAST: Final = 35  # since 2.36 clients use the image service
_LAST_METADATA: Final = 38
_IMAGES: Final = "/v2.1/images"
_IMAGE: Final = f"{_IMAGES}/{{image_id}}"
_METADATA: Final = f"{_IMAGE}/metadata"
_ITEM: Final = f"{_METADATA}/{{key}}"


def _image(operation: str, handler: Any, policy: Rule, **more: Any) -> Route:
    return row(operation, (ImageProxies, handler), policy, until=_LAST, **more)


def _metadata(operation: str, handler: Any, policy: Rule, **more: Any) -> Route:
    return row(operation, (ImageProxyMetadata, handler), policy, until=_LAST_METADATA, **more)


_OF_METADATA: Final = ImageProxyMetadata
ROUTES: Final[tuple[Route, ...]] = (
    _image(f"GET {_IMAGES}", ImageProxies.list_brief, store_images.LIST_POLICY, query=LIST_QUERY),
    _image(
        f"GET {_IMAGES}/detail",
        ImageProxies.list_detail,
        store_images.LIST_POLICY,
        query=LIST_QUERY,
    ),
    _image(f"GET {_IMAGE}", ImageProxies.show, store_images.SHOW_POLICY),
    _image(f"DELETE {_IMAGE}", ImageProxies.delete, store_images.DELETE_POLICY, status=204),
    _metadata(f"GET {_METADATA}", _OF_METADATA.list_all, store_images.SHOW_POLICY),
    _metadata(
        f"POST {_METADATA}", _OF_METADATA.merge, store_images.UPDATE_POLICY, body=metadata.CHANGE
    ),
    _metadata(
        f"PUT {_METADATA}", _OF_METADATA.replace, store_images.UPDATE_POLICY, body=metadata.CHANGE
    ),
    _metadata(f"GET {_ITEM}", _OF_METADATA.show, store_images.SHOW_POLICY),
    _metadata(
        f"PUT {_ITEM}", _OF_METADATA.update, store_images.UPDATE_POLICY, body=metadata.CHANGE_ONE
    ),
    _metadata(f"DELETE {_ITEM}", _OF_METADATA.delete, store_images.UPDATE_POLICY, status=204),
)
