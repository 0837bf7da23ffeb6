"""The standalone image API: users create images, upload their data, and share them with members.

``roost/api/images.py`` decides which images a list has.
"""

import dataclasses
import datetime
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from roost import exception
from roost.api import images as shared_images
from roost.api import pagination
from roost.api.dependencies import Dependencies
from roost.api.images import ALL, check_count, listed, own
from roost.api.policy import MEMBER, READER, Rule
from roost.api.request import Answer, Call, truth
from roost.api.route import DATA, Route, row
from roost.image.driver import (
    ACCEPTED,
    PENDING,
    QUEUED,
    SHARED,
    EditableImageStore,
    ImageMember,
    ImageStore,
    Members,
    projects,
)
from roost.objects import ImageMeta
from roost.standalone import image_schemas
from roost.standalone.image_schemas import MOST_MEMBERS

_FILTERS = ("name", "id", "status", "owner", "disk_format", "container_format")
# The query parameters of Image v2, whether or not they have an effect here: any other name is that
# of a property.
_QUERY_NAMES = frozenset(
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

    def __init__(self, dependencies: Dependencies) -> None:
        self._store = dependencies.images
        self._most = dependencies.options.max_limit

    def list_all(self, call: Call) -> Answer:
        seen = listed(
            call,
            self._store,
            visibilities=_values(call.query.one("visibility") or ""),
            member_status=call.query.one("member_status") or ACCEPTED,
        )
        found = [image for image in seen if _passes(call, image)]
        limit = pagination.limit(call, most=self._most)
        page = pagination.after(found, call)
        return Answer(image_schemas.full_list(call, page[:limit], more=len(page) > limit))

    def show(self, call: Call) -> Answer:
        return Answer(image_schemas.full(self._store.get(call.context, call.params["image_id"])))

    def tasks(self, call: Call) -> Answer:
        """Return no tasks: this store has no asynchronous operations."""
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
    alike = tagged and _has_requested_properties(call, image)
    return alike and _is_of_visibility(call, image) and _is_protected_as_requested(call, image)


def _is_of_visibility(call: Call, image: ImageMeta) -> bool:
    asked = call.query.one("visibility")
    return asked in (None, ALL) or image.visibility in _values(str(asked))


def _is_protected_as_requested(call: Call, image: ImageMeta) -> bool:
    asked = call.query.one("protected")
    return asked is None or truth(asked, name="protected") == image.protected


def _has_requested_properties(call: Call, image: ImageMeta) -> bool:
    asked = call.query.values.keys() - _QUERY_NAMES
    return all(image.properties.get(name) in call.query.all(name) for name in asked)


def _values(asked: str) -> list[str]:
    """Parse a filter of Image v2: a value, ``eq:value`` or ``in:one,two``."""
    if asked.startswith("in:"):
        return [value.strip('"') for value in asked[3:].split(",")]
    return [asked.removeprefix("eq:")]


_OF_PATCH: Final = 1  # the schemas of images have no microversions
_KEPT: Final = frozenset({"name", "visibility", "owner", "disk_format", "container_format"})
_USUALLY: Final = {"min_ram": 0, "min_disk": 0, "protected": False, "tags": []}
_UNCHANGEABLE: Final = image_schemas.READ_ONLY | {"id"}
_WITH_DATA: Final = frozenset({"disk_format", "container_format"})  # describe the data


class ImageEdits:
    """The writing half of ``/image/v2/images``, for stores that users may write to."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._images = dependencies.images
        self._now = dependencies.now

    def create(self, call: Call) -> Answer:
        image = _described(call, now=self._now())
        _check_visibility(call, image)
        made = self._store.create(call.context, image)
        address = f"{call.base_url}{call.path}/{made.id}"
        return Answer(image_schemas.full(made), {"Location": address})

    def upload(self, call: Call) -> Answer:
        self._store.upload(call.context, own(call, self._store).id, call.body)
        return Answer()

    def update(self, call: Call) -> Answer:
        image = own(call, self._store)
        changed = self._store.change(call.context, image.id, _editor(call))
        return Answer(image_schemas.full(changed))

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
            if len(tags) > image_schemas.MOST_TAGS:
                raise exception.QuotaExceeded(
                    f"An image has {image_schemas.MOST_TAGS} tags at most."
                )
            return ImageMeta.of(**image.values() | {"tags": tags})

        image_schemas.TAG_CHECK.check(call.params["tag"], minor=_OF_PATCH, what="tag")
        self._store.change(call.context, own(call, self._store).id, retagged)

    @property
    def _store(self) -> EditableImageStore:
        return editable(self._images)


def editable(store: ImageStore) -> EditableImageStore:
    """Return the store, if users may write to it here.

    :raises roost.exception.Unsupported: when it has an API of its own
    """
    if not isinstance(store, EditableImageStore):
        raise exception.Unsupported("The image store of this cloud cannot be changed here.")
    return store


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
        **_new_values(values | asked | {"owner": owner}),
    )
    if owner != call.context.project_id:
        call.require(image_schemas.OTHER_OWNER_POLICY)
    return image


def _new_values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an image from a document; other members are properties."""
    kept = {name: document[name] for name in _KEPT}
    more = {name: document.get(name, usual) for name, usual in _USUALLY.items()}
    more["tags"] = sorted(set(more["tags"]))
    properties = {name: document[name] for name in document if name not in image_schemas.FIELDS}
    check_count(properties)
    return {**kept, **more, "name": document["name"] or "", "properties": properties}


def _check_visibility(call: Call, image: ImageMeta) -> None:
    if image.visibility == "public":
        call.require(image_schemas.PUBLICIZE_POLICY)


def _editor(call: Call) -> Callable[[ImageMeta], ImageMeta]:
    """Return a function that applies the request's patch to an image."""

    def edit(image: ImageMeta) -> ImageMeta:
        own = {name: getattr(image, name) for name in (*_KEPT, *_USUALLY)}
        document = {**image.properties, **own}
        for operation in call.body:
            _apply(operation, document)
        image_schemas.WHOLE.check(document, minor=_OF_PATCH, what="body")
        return _checked(call, image, ImageMeta.of(**image.values() | _new_values(document)))

    return edit


def _apply(operation: Mapping[str, Any], document: dict[str, Any]) -> None:
    verb = operation["op"]
    name = operation["path"][1:].replace("~1", "/").replace("~0", "~")
    if name in _UNCHANGEABLE:
        raise exception.Forbidden(f"Attribute '{name}' is read-only.")
    if verb == "remove" and name in image_schemas.FIELDS:
        raise exception.Forbidden(f"Property {name} may not be removed.")
    if verb != "add" and name not in document and name not in image_schemas.FIELDS:
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
        call.require(image_schemas.OTHER_OWNER_POLICY)
    changed = {name for name in _WITH_DATA if getattr(new, name) != getattr(old, name)}
    if changed and old.status != QUEUED:
        raise exception.Forbidden(
            f"Attribute '{min(changed)}' cannot change once the image has data."
        )
    return new


_ONLY_SHARED: Final = "Only shared images have members."


class ImageMembers:
    """Handlers of ``/image/v2/images/{id}/members``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._images = dependencies.images
        self._now = dependencies.now

    def list_all(self, call: Call) -> Answer:
        image = self._store.get(call.context, call.params["image_id"])
        _check_shared(image)
        shown = [image_schemas.member(image.id, one) for one in self._known(call, image)]
        return Answer({"members": shown, "schema": "/v2/schemas/members"})

    def show(self, call: Call) -> Answer:
        image = self._store.get(call.context, call.params["image_id"])
        return Answer(image_schemas.member(image.id, _find(call, self._known(call, image))))

    def create(self, call: Call) -> Answer:
        image, project, now = own(call, self._store), call.body["member"], self._now()
        _check_shared(image)
        new = ImageMember(project, PENDING, created_at=now, updated_at=now)

        def with_new(members: Members) -> Members:
            if project in projects(members):
                raise exception.Conflict(f"{project} is a member of image {image.id} already.")
            if len(members) >= MOST_MEMBERS:
                raise exception.QuotaExceeded(f"An image has {MOST_MEMBERS} members at most.")
            return [*members, new]

        self._store.change_members(call.context, image.id, with_new)
        return Answer(image_schemas.member(image.id, new))

    def update(self, call: Call) -> Answer:
        """Set a member's status; only the member itself may do so."""
        image = self._store.get(call.context, call.params["image_id"])
        _find(call, self._known(call, image))
        call.require_for(call.params["member_id"])
        said = {"status": call.body["status"], "updated_at": self._now()}

        def with_status(members: Members) -> Members:
            found = _find(call, members)
            return [dataclasses.replace(one, **said) if one == found else one for one in members]

        self._store.change_members(call.context, image.id, with_status)
        return Answer(image_schemas.member(image.id, _find(call, self._known(call, image))))

    def delete(self, call: Call) -> Answer:
        image = own(call, self._store)

        def without(members: Members) -> Members:
            removed = _find(call, members)
            return [one for one in members if one.project_id != removed.project_id]

        self._store.change_members(call.context, image.id, without)
        return Answer()

    def _known(self, call: Call, image: ImageMeta) -> Members:
        """Return the members that the caller may see: all for the owner, itself for a member."""
        members = self._store.members(call.context, image.id)
        if call.allows(call.rule, project_id=image.owner or ""):
            return members
        return [one for one in members if one.project_id == call.context.project_id]

    @property
    def _store(self) -> EditableImageStore:
        return editable(self._images)


def _check_shared(image: ImageMeta) -> None:
    if image.visibility != SHARED:
        raise exception.Forbidden(_ONLY_SHARED)


def _find(call: Call, members: Members) -> ImageMember:
    for one in members:
        if one.project_id == call.params["member_id"]:
            return one
    raise exception.NotFound(
        f"{call.params['member_id']} is not a member of image {call.params['image_id']}."
    )


_TAG: Final = "/image/v2/images/{image_id}/tags/{tag}"
_MEMBERS: Final = "/image/v2/images/{image_id}/members"
_MEMBER: Final = f"{_MEMBERS}/{{member_id}}"

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /image/v2/images",
        (Images, Images.list_all),
        shared_images.LIST_POLICY,
        query=image_schemas.LIST_QUERY,
    ),
    row(
        "POST /image/v2/images",
        (ImageEdits, ImageEdits.create),
        Rule("roost:images:create", MEMBER, "Create an image."),
        checks=(image_schemas.PUBLICIZE_POLICY, image_schemas.OTHER_OWNER_POLICY),
        body=image_schemas.CREATE,
        status=201,
    ),
    row("GET /image/v2/images/{image_id}", (Images, Images.show), shared_images.SHOW_POLICY),
    row("GET /image/v2/images/{image_id}/tasks", (Images, Images.tasks), shared_images.SHOW_POLICY),
    row(
        "PATCH /image/v2/images/{image_id}",
        (ImageEdits, ImageEdits.update),
        shared_images.UPDATE_POLICY,
        checks=(image_schemas.PUBLICIZE_POLICY, image_schemas.OTHER_OWNER_POLICY),
        body=image_schemas.PATCH,
        takes=image_schemas.PATCH_KINDS,
    ),
    row(
        "DELETE /image/v2/images/{image_id}",
        (ImageEdits, ImageEdits.delete),
        shared_images.DELETE_POLICY,
        status=204,
    ),
    row(
        "PUT /image/v2/images/{image_id}/file",
        (ImageEdits, ImageEdits.upload),
        Rule("roost:images:upload", MEMBER, "Upload image data."),
        takes=(DATA,),
        status=204,
    ),
    row(
        "GET /image/v2/images/{image_id}/file",
        (Images, Images.download),
        Rule("roost:images:download", READER, "Read an image's data."),
        gives=DATA,
        also=204,
    ),
    row(f"PUT {_TAG}", (ImageEdits, ImageEdits.tag), shared_images.UPDATE_POLICY, status=204),
    row(f"DELETE {_TAG}", (ImageEdits, ImageEdits.untag), shared_images.UPDATE_POLICY, status=204),
    row(
        f"GET {_MEMBERS}",
        (ImageMembers, ImageMembers.list_all),
        Rule("roost:images:members:list", READER, "List the members of an image."),
    ),
    row(
        f"POST {_MEMBERS}",
        (ImageMembers, ImageMembers.create),
        Rule("roost:images:members:create", MEMBER, "Share an image with another project."),
        body=image_schemas.MEMBER_CREATE,
    ),
    row(
        f"GET {_MEMBER}",
        (ImageMembers, ImageMembers.show),
        Rule("roost:images:members:show", READER, "Show a member of an image."),
    ),
    row(
        f"PUT {_MEMBER}",
        (ImageMembers, ImageMembers.update),
        Rule("roost:images:members:update", MEMBER, "Accept or reject a shared image."),
        body=image_schemas.MEMBER_UPDATE,
    ),
    row(
        f"DELETE {_MEMBER}",
        (ImageMembers, ImageMembers.delete),
        Rule("roost:images:members:delete", MEMBER, "Remove a member of an image."),
        status=204,
    ),
)
