"""Images in the words of Compute before 2.36, when the image service was not asked itself."""

from collections.abc import Callable, Mapping
from typing import Final

from roost import exception
from roost.api import catalog, paging
from roost.api.call import Answer, Call
from roost.api.image_edits import check_count, own
from roost.api.image_lists import listed
from roost.api.parts import Parts
from roost.api.validation import timestamp
from roost.api.views import image_proxies as views
from roost.objects import ImageMeta

Properties = Mapping[str, str]
_Test = Callable[[ImageMeta, str], bool]


def _equal(name: str) -> _Test:
    return lambda image, asked: str(getattr(image, name)) == asked


def _since(image: ImageMeta, asked: str) -> bool:
    return bool((image.updated_at or image.created_at) >= timestamp(asked))


# What the query calls a filter, and whether an image passes it; a server may be named by its URL.
_FILTERS: Final[Mapping[str, _Test]] = {
    "name": lambda image, asked: bool(image.name == asked),
    "status": lambda image, asked: views.status(image) == asked.upper(),
    "type": lambda image, asked: image.properties.get("image_type", "base") == asked,
    "server": lambda image, asked: (
        image.properties.get("instance_uuid", "") == asked.rpartition("/")[2]
    ),
    "minDisk": _equal("min_disk"),
    "minRam": _equal("min_ram"),
    "changes-since": _since,
}


class _Proxies:
    """The images of the store, as far as the caller may see them."""

    def __init__(self, parts: Parts) -> None:
        self._store = parts.images
        self._most = parts.options.max_limit

    def _find(self, call: Call) -> ImageMeta:
        return self._store.get(call.context, call.params["image_id"])


class ImageProxies(_Proxies):
    """Handlers of ``/images`` of Compute."""

    def list_brief(self, call: Call) -> Answer:
        return self._list(call, views.brief)

    def list_detail(self, call: Call) -> Answer:
        return self._list(call, views.full)

    def show(self, call: Call) -> Answer:
        root = catalog.images_root(call, self._store)
        return Answer({"image": views.full(self._find(call), call.base_url, root)})

    def delete(self, call: Call) -> Answer:
        self._store.delete(call.context, own(call, self._store).id)
        return Answer()

    def _list(self, call: Call, view: views.View) -> Answer:
        found = [one for one in listed(call, self._store) if _passes(call, one)]
        limit = paging.limit(call, most=self._most)
        page = paging.after(found, call)[:limit]
        last = page[-1].id if page else ""
        root = catalog.images_root(call, self._store)
        shown = [view(image, call.base_url, root) for image in page]
        full = len(page) == limit
        return Answer({"images": shown, **paging.links(call, "images", full=full, last=last)})


class ImageProxyMetadata(_Proxies):
    """Handlers of ``/images/{id}/metadata`` of Compute: an image's properties."""

    def list_all(self, call: Call) -> Answer:
        return Answer({"metadata": dict(self._find(call).properties)})

    def show(self, call: Call) -> Answer:
        found, key = self._find(call).properties, call.params["key"]
        return Answer({"meta": {key: _item(found, key)}})

    def merge(self, call: Call) -> Answer:
        """Add items, or change those that there are; others stay."""
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
