"""Which images lists have: one rule for the image API and for what Compute tells of images."""

from collections.abc import Collection
from typing import Final

from roost.api.call import Call
from roost.image.driver import ACCEPTED, MEMBER_STATUSES, SHARED, EditableImageStore, ImageStore
from roost.objects import ImageMeta

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

    Those of a community are for who asks for them by their visibility; those that others share are
    for who has accepted them, or asks for them by what they said. Own ones are always there.
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
    """Tell whether the caller has said this to an image; another service has judged it itself."""
    if call.context.is_admin or not isinstance(store, EditableImageStore):
        return True
    members = store.members(call.context, image.id)
    return any(m.project_id == call.context.project_id and m.status in statuses for m in members)
