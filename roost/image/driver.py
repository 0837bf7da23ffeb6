"""What Roost asks of an image store: the seam that ``roost.image`` plug-ins fill.

A plug-in is a class with ``from_conf(conf)``, named by an entry point of that group.
"""

from collections.abc import Mapping
from typing import BinaryIO, Final, Protocol

from roost.objects import ImageMeta

DISK_FORMATS: Final = frozenset(
    {"raw", "qcow2", "iso", "vmdk", "vdi", "vhd", "vhdx", "ploop", "aki", "ari", "ami"}
)
VISIBILITIES: Final = frozenset({"public", "private", "shared", "community"})


class ImageStore(Protocol):
    """Keeps images whole: what it lists can be opened, and is what its checksum says."""

    def list_images(self) -> list[ImageMeta]:
        """Return all images, the oldest first."""

    def get(self, image_id: str) -> ImageMeta:
        """Return what is known of an image.

        :raises roost.exception.NotFound: when there is none
        :raises roost.exception.Internal: when the store has lost or damaged it
        """

    def add(
        self,
        *,
        name: str,
        data: BinaryIO,
        disk_format: str = "raw",
        container_format: str = "bare",
        min_ram: int = 0,
        min_disk: int = 0,
        properties: Mapping[str, str] | None = None,
        visibility: str = "public",
        owner: str | None = None,
    ) -> ImageMeta:
        """Take in an image, whole or not at all; size and checksum come from ``data``.

        :param min_ram: MiB that a server needs to boot from it
        :param min_disk: GiB that its root disk needs
        :raises roost.exception.Invalid: for values that mean nothing
        """

    def delete(self, image_id: str) -> None:
        """Forget an image.

        :raises roost.exception.NotFound: when there is none
        """

    def open(self, image_id: str) -> BinaryIO:
        """Return the image's data from its beginning; the caller closes it.

        :raises roost.exception.NotFound: when there is none
        """
