"""Kernels beside images: an image may name two others that its guests are started by."""

import pathlib
import threading
from collections.abc import Sequence
from typing import Final

from roost import exception
from roost.compute.image import ImageCache
from roost.compute.virt.driver import Kernel
from roost.context import RequestContext
from roost.image.driver import KERNEL_BYTES, KERNEL_ID, RAMDISK_ID
from roost.objects import ImageMeta

_COMMAND_LINE: Final = "os_command_line"


def fetch(
    images: ImageCache,
    context: RequestContext,
    image: ImageMeta,
    *,
    stopping: threading.Event,
    trusted: Sequence[str] = (),
    user: object,
) -> Kernel | None:
    """Return the kernel that an image names, fetched to this host; None: it names none.

    :param trusted: certificates that it must be signed by, as :meth:`ImageCache.ensure` says
    :param user: for whom it stays, likewise
    :raises roost.exception.BuildFailed: final when no host can have it
    """
    said = {name: image.properties.get(name, "").strip() for name in (KERNEL_ID, RAMDISK_ID)}
    if said[RAMDISK_ID] and not said[KERNEL_ID]:
        raise exception.BuildFailed(
            f"Image {image.id} has a {RAMDISK_ID}, which needs a {KERNEL_ID}.", reschedulable=False
        )
    if not said[KERNEL_ID]:
        return None

    def fetched(name: str) -> pathlib.Path:
        found = images.find(context, said[name])
        if found.size > KERNEL_BYTES:
            raise exception.BuildFailed(
                f"{name} of image {image.id} names one of {found.size} bytes, and {KERNEL_BYTES} is"
                " the most.",
                reschedulable=False,
            )
        return images.ensure(context, found, stopping=stopping, trusted=trusted, user=user)

    return Kernel(
        fetched(KERNEL_ID),
        ramdisk=fetched(RAMDISK_ID) if said[RAMDISK_ID] else None,
        command_line=image.properties.get(_COMMAND_LINE),
    )
