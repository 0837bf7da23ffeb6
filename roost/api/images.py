"""Images of the image service: their policies, and which images a caller may see or change.

Shared by Compute's image proxies (``legacy/images.py``) and the stand-in of Glance.
"""

from collections.abc import Collection, Mapping
from typing import Final

from roost import exception
from roost.api.policy import MEMBER, READER, Rule
from roost.api.request import Call
from roost.image.driver import (
    ACCEPTED,
    MEMBER_STATUSES,
    SHARED,
    EditableImageStore,
    ImageStore,
)
from roost.objects import ImageMeta

LIST_POLICY = Rule("roost:images:list", READER, "List images.")
SHOW_POLICY = Rule("roost:images:show", READER, "Show an image.")
UPDATE_POLICY = Rule("roost:images:update", MEMBER, "Change an image's description.")
DELETE_POLICY = Rule("roost:images:delete", MEMBER, "Delete an image.")
MOST_PROPERTIES: Final = 128
ALL: Final = "all"
_COMMUNITY: Final = "community"


def listed(
    call: Call,
    store: ImageStore,
    *,
    visibilities: Collection[str] = (),
    member_status: str = ACCEPTED,
) -> list[ImageMeta]:
    """Return the images of a list, the oldest first, among those that the caller may see.

    Community images are listed only with the visibility ``community``; images shared by others only
    if accepted, or with a filter by member status. The caller's own images are always listed.
    """
    statuses = MEMBER_STATUSES if member_status == ALL else (member_status,)
    communities = not {_COMMUNITY, ALL}.isdisjoint(visibilities)
    return [
        image
        for image in store.list_images(call.context)
        if image.owner == call.context.project_id
        or (
            (image.visibility != _COMMUNITY or communities)
            and (image.visibility != SHARED or _is_taken(call, store, image, statuses))
        )
    ]


def _is_taken(call: Call, store: ImageStore, image: ImageMeta, statuses: Collection[str]) -> bool:
    """Return whether the caller's member status matches; another service has checked it itself."""
    if call.context.is_admin or not isinstance(store, EditableImageStore):
        return True
    members = store.members(call.context, image.id)
    return any(m.project_id == call.context.project_id and m.status in statuses for m in members)


def own(call: Call, store: ImageStore) -> ImageMeta:
    """Return the image that the path names, if the caller may change it.

    :raises roost.exception.Forbidden: when the caller may only see it
    """
    image = store.get(call.context, call.params["image_id"])
    if not call.allows(call.rule, project_id=image.owner or ""):
        raise exception.Forbidden("You are not permitted to change this image.")
    return image


def check_count(properties: Mapping[str, str]) -> None:
    """Make sure that an image has no more properties than the store allows.

    :raises roost.exception.Invalid: when it has more
    """
    if len(properties) > MOST_PROPERTIES:
        raise exception.Invalid(f"An image has {MOST_PROPERTIES} properties at most.")
