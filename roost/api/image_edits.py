"""Images that users make: described first, then given their data."""

import datetime
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from roost import exception
from roost.api import over_quota, policies
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.schemas import images as schemas
from roost.api.views import images as views
from roost.image.driver import QUEUED, EditableImageStore, ImageStore
from roost.objects import ImageMeta

_OF_PATCH: Final = 1  # the schemas of images know no microversions
_KEPT: Final = frozenset({"name", "visibility", "owner", "disk_format", "container_format"})
_USUALLY: Final = {"min_ram": 0, "min_disk": 0, "protected": False, "tags": []}
_UNCHANGEABLE: Final = schemas.READ_ONLY | {"id"}
_WITH_DATA: Final = frozenset({"disk_format", "container_format"})  # tell what the data is


class ImageEdits:
    """The writing half of ``/image/v2/images``, for stores that can be written by users."""

    def __init__(self, parts: Parts) -> None:
        self._images = parts.images
        self._now = parts.now

    def create(self, call: Call) -> Answer:
        image = _described(call, now=self._now())
        _check_visibility(call, image)
        with over_quota.of_images():
            made = self._store.create(call.context, image)
        address = f"{call.base_url}{call.path}/{made.id}"
        return Answer(views.full(made), {"Location": address})

    def upload(self, call: Call) -> Answer:
        with over_quota.of_images():
            self._store.upload(call.context, own(call, self._store).id, call.body)
        return Answer()

    def update(self, call: Call) -> Answer:
        image = own(call, self._store)
        with over_quota.of_images():
            changed = self._store.change(call.context, image.id, _editor(call))
        return Answer(views.full(changed))

    def delete(self, call: Call) -> Answer:
        self._store.delete(call.context, own(call, self._store).id)
        return Answer()

    def tag(self, call: Call) -> Answer:
        self._retag(call, lambda tags: {*tags, call.params["tag"]})
        return Answer()

    def untag(self, call: Call) -> Answer:
        def without(tags: Collection[str]) -> Collection[str]:
            if call.params["tag"] not in tags:
                raise exception.NotFound(f"The image has no tag {call.params['tag']}.")
            return {*tags} - {call.params["tag"]}

        self._retag(call, without)
        return Answer()

    def _retag(self, call: Call, edit: Callable[[Collection[str]], Collection[str]]) -> None:
        def retagged(image: ImageMeta) -> ImageMeta:
            tags = sorted(edit(image.tags))
            if len(tags) > schemas.MOST_TAGS:
                raise exception.QuotaExceeded(f"An image has {schemas.MOST_TAGS} tags at most.")
            return ImageMeta.of(**image.values() | {"tags": tags})

        schemas.TAG_CHECK.check(call.params["tag"], minor=_OF_PATCH, what="tag")
        self._store.change(call.context, own(call, self._store).id, retagged)

    @property
    def _store(self) -> EditableImageStore:
        return editable(self._images)


def editable(store: ImageStore) -> EditableImageStore:
    """Return the store that users write.

    :raises roost.exception.Unsupported: when they write it elsewhere
    """
    if not isinstance(store, EditableImageStore):
        raise exception.Unsupported("The image store of this cloud is not written here.")
    return store


def own(call: Call, store: ImageStore) -> ImageMeta:
    """Return the image that the path names, if it is the caller's to change.

    :raises roost.exception.Forbidden: when the caller may only see it
    """
    image = store.get(call.context, call.params["image_id"])
    if not call.allows(call.rule, project_id=image.owner or ""):
        raise exception.Forbidden("You are not permitted to change this image.")
    return image


def check_count(properties: Mapping[str, str]) -> None:
    """Make sure that an image has no more properties than the store keeps.

    :raises roost.exception.Invalid: when it would have
    """
    if len(properties) > schemas.MOST_PROPERTIES:
        raise exception.Invalid(f"An image has {schemas.MOST_PROPERTIES} properties at most.")


def _described(call: Call, *, now: datetime.datetime) -> ImageMeta:
    asked = call.body
    owner = asked.get("owner") or call.project_id
    values = {
        "name": None,
        "visibility": "shared",
        "disk_format": "raw",
        "container_format": "bare",
    }
    image = ImageMeta.of(
        id=str(uuid.UUID(asked["id"])) if "id" in asked else str(uuid.uuid4()),
        status=QUEUED,
        size=0,
        hash_algo=None,
        hash_value=None,
        created_at=now,
        updated_at=now,
        **_values(values | asked | {"owner": owner}),
    )
    if owner != call.context.project_id:
        call.require(policies.images.OTHER_OWNER)
    return image


def _values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an image that a document sets; what is no field is a property."""
    kept = {name: document[name] for name in _KEPT}
    more = {name: document.get(name, usual) for name, usual in _USUALLY.items()}
    more["tags"] = sorted(set(more["tags"]))
    properties = {name: document[name] for name in document if name not in schemas.FIELDS}
    check_count(properties)
    return {**kept, **more, "name": document["name"] or "", "properties": properties}


def _check_visibility(call: Call, image: ImageMeta) -> None:
    if image.visibility == "public":
        call.require(policies.images.PUBLICIZE)


def _editor(call: Call) -> Callable[[ImageMeta], ImageMeta]:
    """Return what makes the image that a patch asks for, of the one that is there then."""

    def edit(image: ImageMeta) -> ImageMeta:
        document = _document(image)
        for operation in call.body:
            _apply(operation, document)
        schemas.WHOLE.check(document, minor=_OF_PATCH, what="body")
        return _checked(call, image, ImageMeta.of(**image.values() | _values(document)))

    return edit


def _document(image: ImageMeta) -> dict[str, Any]:
    own = {name: getattr(image, name) for name in (*_KEPT, *_USUALLY)}
    return {**image.properties, **own}


def _apply(operation: Mapping[str, Any], document: dict[str, Any]) -> None:
    verb = operation["op"]
    name = operation["path"][1:].replace("~1", "/").replace("~0", "~")
    if name in _UNCHANGEABLE:
        raise exception.Forbidden(f"Attribute '{name}' is read-only.")
    if verb == "remove" and name in schemas.FIELDS:
        raise exception.Forbidden(f"Property {name} may not be removed.")
    if verb != "add" and name not in document and name not in schemas.FIELDS:
        raise exception.Conflict(f"Property {name} does not exist.")
    if verb == "remove":
        del document[name]
    elif "value" not in operation:
        raise exception.Invalid(f"Operation {verb!r} requires a member named 'value'.")
    else:
        document[name] = operation["value"]


def _checked(call: Call, old: ImageMeta, new: ImageMeta) -> ImageMeta:
    if new.visibility != old.visibility:
        _check_visibility(call, new)
    if new.owner != old.owner:
        call.require(policies.images.OTHER_OWNER)
    changed = {name for name in _WITH_DATA if getattr(new, name) != getattr(old, name)}
    if changed and old.status != QUEUED:
        raise exception.Forbidden(f"Attribute '{min(changed)}' is of data that is there.")
    return new
