"""Kernels beside images: an image may name two others that its guests are started by."""

import pathlib
import threading
from typing import Final

from roost import exception
from roost.compute.image import ImageCache
from roost.compute.virt.driver import Kernel
from roost.context import RequestContext
from roost.objects import ImageMeta

_KERNEL: Final = "kernel_id"
_RAMDISK: Final = "ramdisk_id"
_COMMAND_LINE: Final = "os_command_line"


def fetch(
    images: ImageCache,
    context: RequestContext,
    image: ImageMeta,
    *,
    stopping: threading.Event,
) -> Kernel | None:
    """Return the kernel that an image names, fetched to this host; None: it names none.

    :raises roost.exception.BuildFailed: final when no host can have it
    """
    said = {name: image.properties.get(name, "").strip() for name in (_KERNEL, _RAMDISK)}
    if said[_RAMDISK] and not said[_KERNEL]:
        raise exception.BuildFailed(
            f"Image {image.id} has a {_RAMDISK}, which needs a {_KERNEL}.", reschedulable=False
        )
    if not said[_KERNEL]:
        return None

    def fetched(name: str) -> pathlib.Path:
        return images.ensure(context, images.find(context, said[name]), stopping=stopping)

    return Kernel(
        fetched(_KERNEL),
        ramdisk=fetched(_RAMDISK) if said[_RAMDISK] else None,
        command_line=image.properties.get(_COMMAND_LINE),
    )
