"""The image that something is to be done with to a server that is there."""

from typing import Final

from roost import exception
from roost.api.call import Call
from roost.api.parts import Options, Parts
from roost.image.driver import ACTIVE, KERNEL_BYTES, KERNEL_ID, RAMDISK_ID
from roost.objects import ImageMeta

_MISSING: Final = "Image {} could not be found."


def usable(call: Call, parts: Parts, image_id: str, *, missing: str = _MISSING) -> ImageMeta:
    """Return an image that is there for the caller, and whole, as is what it names.

    :param missing: what is said when it is not there
    :raises roost.exception.Invalid: when there is none
    """
    image = _active(call, parts, image_id, missing)
    _check_named(call, parts, image)
    return image


def _check_named(call: Call, parts: Parts, image: ImageMeta) -> None:
    """Make sure that the caller may also use the kernel and the ramdisk that an image names.

    And that they are as small as such are.

    :raises roost.exception.Invalid: naming the property, when they may not
    """
    for name in (KERNEL_ID, RAMDISK_ID):
        if named := image.properties.get(name, "").strip():
            try:
                _check_small(_active(call, parts, named, _MISSING))
            except exception.Invalid as error:
                raise exception.Invalid(f"{name} of image {image.id}: {error.message}") from error


def _check_small(image: ImageMeta) -> None:
    if image.size > KERNEL_BYTES:
        raise exception.Invalid(
            f"Image {image.id} has {image.size} bytes, and may have {KERNEL_BYTES} at most."
        )


def _active(call: Call, parts: Parts, image_id: str, missing: str) -> ImageMeta:
    try:
        image = parts.images.get(call.context, image_id)
    except (exception.NotFound, exception.Forbidden) as error:
        raise exception.Invalid(missing.format(image_id)) from error
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
