"""Images, for reading: what clients ask of the image service to boot and show servers."""

from roost import exception
from roost.api import paging
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import images as views
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
            for image in self._store.list_images()
            if _may_see(call, image) and _passes(call, image)
        ]
        limit = paging.limit(call, most=self._most)
        page = _after(found, call.query.one("marker"))
        return Answer(views.full_list(call, page[:limit], more=len(page) > limit))

    def show(self, call: Call) -> Answer:
        image_id = call.params["image_id"]
        image = self._store.get(image_id)
        if not _may_see(call, image):
            raise exception.NotFound(f"No image found with ID {image_id}")
        return Answer(views.full(image))


def _may_see(call: Call, image: ImageMeta) -> bool:
    return (
        image.visibility != "private"
        or image.owner == call.context.project_id
        or bool(call.context.is_admin)
    )


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


def _after(found: list[ImageMeta], marker: str | None) -> list[ImageMeta]:
    if not marker:
        return found
    places = [place for place, image in enumerate(found) if image.id == marker]
    if not places:
        raise exception.Invalid(f"marker {marker} not found")
    return found[places[0] + 1 :]
