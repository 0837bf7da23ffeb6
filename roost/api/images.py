"""Images, for reading; ``image_edits.py`` writes them."""

from roost.api import paging
from roost.api.call import Answer, Call, truth
from roost.api.image_lists import ALL, listed
from roost.api.parts import Parts
from roost.api.views import images as views
from roost.image.driver import ACCEPTED, QUEUED
from roost.objects import ImageMeta

_FILTERS = ("name", "id", "status", "owner", "disk_format", "container_format")
# What Image itself understands of a query, whether or not it makes a difference here: any other
# name is of a property.
_WORDS = frozenset(
    (
        *_FILTERS,
        "visibility",
        *("limit", "marker", "sort", "sort_key", "sort_dir"),
        *("tag", "member_status", "protected", "os_hidden", "size_min", "size_max"),
        *("min_ram", "min_disk", "size", "virtual_size", "created_at", "updated_at"),
        *("checksum", "os_hash_algo", "os_hash_value"),
    )
)


class Images:
    """Handlers of ``/image/v2/images``."""

    def __init__(self, parts: Parts) -> None:
        self._store = parts.images
        self._most = parts.options.max_limit

    def list_all(self, call: Call) -> Answer:
        seen = listed(
            call,
            self._store,
            visibilities=_values(call.query.one("visibility") or ""),
            member_status=call.query.one("member_status") or ACCEPTED,
        )
        found = [image for image in seen if _passes(call, image)]
        limit = paging.limit(call, most=self._most)
        page = paging.after(found, call)
        return Answer(views.full_list(call, page[:limit], more=len(page) > limit))

    def show(self, call: Call) -> Answer:
        return Answer(views.full(self._store.get(call.context, call.params["image_id"])))

    def tasks(self, call: Call) -> Answer:
        """Return that nothing is under way with an image: what is done here is done at once."""
        self._store.get(call.context, call.params["image_id"])
        return Answer({"tasks": []})

    def download(self, call: Call) -> Answer:
        image = self._store.get(call.context, call.params["image_id"])
        if image.status == QUEUED:
            return Answer(status=204)
        return Answer(data=self._store.open(call.context, image.id), length=image.size)


def _passes(call: Call, image: ImageMeta) -> bool:
    for name in _FILTERS:
        asked = call.query.one(name)
        if asked is not None and getattr(image, name) not in _values(asked):
            return False
    tagged = set(call.query.all("tag")).issubset(image.tags)
    alike = tagged and _has_properties_asked_for(call, image)
    return alike and _is_of_visibility(call, image) and _is_protected_as_asked(call, image)


def _is_of_visibility(call: Call, image: ImageMeta) -> bool:
    asked = call.query.one("visibility")
    return asked in (None, ALL) or image.visibility in _values(str(asked))


def _is_protected_as_asked(call: Call, image: ImageMeta) -> bool:
    asked = call.query.one("protected")
    return asked is None or truth(asked, name="protected") == image.protected


def _has_properties_asked_for(call: Call, image: ImageMeta) -> bool:
    asked = call.query.values.keys() - _WORDS
    return all(image.properties.get(name) in call.query.all(name) for name in asked)


def _values(asked: str) -> list[str]:
    """Read a filter of Image v2: a value, ``eq:value`` or ``in:one,two``."""
    if asked.startswith("in:"):
        return [value.strip('"') for value in asked[3:].split(",")]
    return [asked.removeprefix("eq:")]
