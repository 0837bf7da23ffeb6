"""Projects that an image is shared with: its owner names them, and they accept it or do not."""

import dataclasses
from typing import Final

from roost import exception
from roost.api.call import Answer, Call
from roost.api.image_edits import editable, own
from roost.api.parts import Parts
from roost.api.schemas.images import MOST_MEMBERS
from roost.api.views import images as views
from roost.image.driver import PENDING, SHARED, EditableImageStore, Member, Members, projects
from roost.objects import ImageMeta

_ONLY_SHARED: Final = "Only shared images have members."


class ImageMembers:
    """Handlers of ``/image/v2/images/{id}/members``."""

    def __init__(self, parts: Parts) -> None:
        self._images = parts.images
        self._now = parts.now

    def list_all(self, call: Call) -> Answer:
        image = self._store.get(call.context, call.params["image_id"])
        _check_shared(image)
        shown = [views.member(image.id, one) for one in self._known(call, image)]
        return Answer({"members": shown, "schema": "/v2/schemas/members"})

    def show(self, call: Call) -> Answer:
        image = self._store.get(call.context, call.params["image_id"])
        return Answer(views.member(image.id, _find(call, self._known(call, image))))

    def create(self, call: Call) -> Answer:
        image, project, now = own(call, self._store), call.body["member"], self._now()
        _check_shared(image)
        new = Member(project, PENDING, created_at=now, updated_at=now)

        def with_new(members: Members) -> Members:
            if project in projects(members):
                raise exception.Conflict(f"{project} is a member of image {image.id} already.")
            if len(members) >= MOST_MEMBERS:
                raise exception.QuotaExceeded(f"An image has {MOST_MEMBERS} members at most.")
            return [*members, new]

        self._store.change_members(call.context, image.id, with_new)
        return Answer(views.member(image.id, new))

    def update(self, call: Call) -> Answer:
        """Let a member say what it thinks of the image; nobody does that for it."""
        image = self._store.get(call.context, call.params["image_id"])
        _find(call, self._known(call, image))
        call.require_for(call.params["member_id"])
        said = {"status": call.body["status"], "updated_at": self._now()}

        def with_word(members: Members) -> Members:
            told = _find(call, members)
            return [dataclasses.replace(one, **said) if one == told else one for one in members]

        self._store.change_members(call.context, image.id, with_word)
        return Answer(views.member(image.id, _find(call, self._known(call, image))))

    def delete(self, call: Call) -> Answer:
        image = own(call, self._store)

        def without(members: Members) -> Members:
            gone = _find(call, members)
            return [one for one in members if one.project_id != gone.project_id]

        self._store.change_members(call.context, image.id, without)
        return Answer()

    def _known(self, call: Call, image: ImageMeta) -> Members:
        """Return the members that the caller may know of: who owns the image all, others itself."""
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


def _find(call: Call, members: Members) -> Member:
    for one in members:
        if one.project_id == call.params["member_id"]:
            return one
    raise exception.NotFound(
        f"{call.params['member_id']} is no member of image {call.params['image_id']}."
    )
