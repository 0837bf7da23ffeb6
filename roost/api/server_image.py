"""The image that something is to be done with to a server that is there."""

from roost import exception
from roost.api.call import Call
from roost.api.parts import Options, Parts
from roost.image.driver import ACTIVE, KERNEL_ID, RAMDISK_ID
from roost.objects import ImageMeta


def usable(call: Call, parts: Parts, image_id: str) -> ImageMeta:
    """Return an image that is there for the caller, and whole, as is what it names.

    :raises roost.exception.Invalid: when there is none
    """
    image = _active(call, parts, image_id)
    check_named(call, parts, image)
    return image


def check_named(call: Call, parts: Parts, image: ImageMeta) -> None:
    """Make sure that the caller may also use the kernel and the ramdisk that an image names.

    :raises roost.exception.Invalid: naming the property, when they may not
    """
    for name in (KERNEL_ID, RAMDISK_ID):
        if named := image.properties.get(name, "").strip():
            try:
                _active(call, parts, named)
            except exception.Invalid as error:
                raise exception.Invalid(f"{name} of image {image.id}: {error.message}") from error


def _active(call: Call, parts: Parts, image_id: str) -> ImageMeta:
    try:
        image = parts.images.get(call.context, image_id)
    except (exception.NotFound, exception.Forbidden) as error:
        raise exception.Invalid(f"Image {image_id} could not be found.") from error
    if image.status != ACTIVE:
        raise exception.Invalid(f"Image {image_id} is not active.")
    return image


def check_verification(options: Options) -> None:
    """Make sure that this cloud can verify what images are signed by.

    :raises roost.exception.Invalid: when it cannot
    """
    if not options.verifies_images:
        raise exception.Invalid(
            "This cloud cannot verify signatures of images: leave trusted_image_certificates out."
        )
