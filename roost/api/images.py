"""Images, for reading; ``image_edits.py`` writes them."""

from roost.api import paging
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import images as views
from roost.image.driver import QUEUED
from roost.objects import ImageMeta

_FILTERS = ("name", "id", "status", "visibility", "owner", "disk_format", "container_format")


class Images:
    """Handlers of ``/image/v2/images``."""

    def __init__(self, parts: Parts) -> None:
        self._store = parts.images
        self._most = parts.options.max_limit

    def list_all(self, call: Call) -> Answer:
        found = [
            image
            for image in self._store.list_images(call.context)
            if _is_listed(call, image) and _passes(call, image)
        ]
        limit = paging.limit(call, most=self._most)
        page = paging.after(found, call)
        return Answer(views.full_list(call, page[:limit], more=len(page) > limit))

    def show(self, call: Call) -> Answer:
        return Answer(views.full(self._store.get(call.context, call.params["image_id"])))

    def download(self, call: Call) -> Answer:
        image = self._store.get(call.context, call.params["image_id"])
        if image.status == QUEUED:
            return Answer(status=204)
        return Answer(data=self._store.open(call.context, image.id), length=image.size)


def _is_listed(call: Call, image: ImageMeta) -> bool:
    """Tell whether an image is in lists; those of a community only for who asks for them."""
    own = image.owner == call.context.project_id
    asked = "community" in _values(call.query.one("visibility") or "")
    return image.visibility != "community" or own or asked


def _passes(call: Call, image: ImageMeta) -> bool:
    for name in _FILTERS:
        asked = call.query.one(name)
        if asked is not None and getattr(image, name) not in _values(asked):
            return False
    return True


def _values(asked: str) -> list[str]:
    """Read a filter of Image v2: a value, ``eq:value`` or ``in:one,two``."""
    if asked.startswith("in:"):
        return [value.strip('"') for value in asked[3:].split(",")]
    return [asked.removeprefix("eq:")]
