"""The image that something is to be done with to a server that is there."""

from roost import exception
from roost.api.call import Call
from roost.api.parts import Parts
from roost.image.driver import ACTIVE
from roost.objects import ImageMeta


def usable(call: Call, parts: Parts, image_id: str) -> ImageMeta:
    """Return an image that is there for the caller, and whole.

    :raises roost.exception.Invalid: when there is none
    """
    try:
        image = parts.images.get(call.context, image_id)
    except (exception.NotFound, exception.Forbidden) as error:
        raise exception.Invalid(f"Image {image_id} could not be found.") from error
    if image.status != ACTIVE:
        raise exception.Invalid(f"Image {image_id} is not active.")
    return image
