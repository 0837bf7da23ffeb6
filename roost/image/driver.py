"""The interface of image stores, which ``roost.image`` plug-ins implement.

A plug-in is a class with ``from_conf(conf)``, named by an entry point of that group; ``load_store``
makes the one that ``[image] store`` names.
"""

import dataclasses
import datetime
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import BinaryIO, Final, Protocol, runtime_checkable

from oslo_config import cfg

from roost import plugins
from roost.context import RequestContext
from roost.objects import ImageMeta

DISK_FORMATS: Final = frozenset(
    {"raw", "qcow2", "iso", "vmdk", "vdi", "vhd", "vhdx", "ploop", "aki", "ari", "ami"}
)
VISIBILITIES: Final = frozenset({"public", "private", "shared", "community"})
QUEUED: Final = "queued"  # created, but without data
ACTIVE: Final = "active"
SHARED: Final = "shared"
PENDING: Final = "pending"
ACCEPTED: Final = "accepted"
MEMBER_STATUSES: Final = (PENDING, ACCEPTED, "rejected")
_FOR_ALL: Final = ("public", "community")
# Properties with the ids of the kernel and ramdisk images of a guest.
KERNEL_ID: Final = "kernel_id"
RAMDISK_ID: Final = "ramdisk_id"
KERNEL_BYTES: Final = 512 << 20  # at most for each: hosts copy them per guest, outside all quotas


@dataclasses.dataclass(frozen=True)
class ImageMember:
    """A project that an image is shared with; ``status``: whether it accepted the image."""

    project_id: str
    status: str
    created_at: datetime.datetime
    updated_at: datetime.datetime


Members = Sequence[ImageMember]
EditProperties = Callable[[Mapping[str, str]], Mapping[str, str]]


class ImageStore(Protocol):
    """Stores images: the data of an active image can be opened, and matches its hash.

    The context identifies the caller. Other projects' private images are not found. A daemon
    without a user's token calls with the service's own credentials.

    All methods end within a bounded time.

    :raises roost.exception.NotFound: (all) when there is no such image for this caller
    :raises roost.exception.Forbidden: (all) when the caller may not do this
    :raises roost.exception.Unavailable: (all) when the store does not answer now
    :raises roost.exception.Internal: (all) when the store has lost or damaged the image
    """

    def list_images(self, context: RequestContext) -> list[ImageMeta]:
        """Return all images that the caller may see, the oldest first."""

    def get(self, context: RequestContext, image_id: str) -> ImageMeta:
        """Return an image."""

    def open(self, context: RequestContext, image_id: str) -> BinaryIO:
        """Return the image's data from its beginning; the caller closes it.

        Reading raises :class:`roost.exception.Unavailable` when the data breaks off.

        :raises roost.exception.Conflict: when the image is not active
        """

    def add(
        self,
        context: RequestContext,
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
        """Store an image, completely or not at all; size and hash come from ``data``.

        :param min_ram: MiB that a server needs to boot from it
        :param min_disk: GiB that its root disk needs
        :raises roost.exception.Invalid: for invalid values
        """

    def create(self, context: RequestContext, image: ImageMeta) -> ImageMeta:
        """Create an image without data, and return it: *queued*.

        :raises roost.exception.Conflict: when its id exists; so retries are safe
        :raises roost.exception.Invalid: for invalid values
        """

    def upload(self, context: RequestContext, image_id: str, data: BinaryIO) -> ImageMeta:
        """Store the data of a queued image, once, completely or not at all; return it *active*.

        Exceptions of reading ``data`` are passed on.

        :raises roost.exception.Conflict: when it has data
        """

    def change_properties(
        self, context: RequestContext, image_id: str, edit: EditProperties
    ) -> ImageMeta:
        """Replace an image's properties by the result of ``edit``; return the changed image.

        :raises roost.exception.Invalid: for invalid values
        """

    def abandon(self, context: RequestContext, image_id: str) -> None:
        """Delete an image that will get no data. May be repeated; active images are left."""

    def delete(self, context: RequestContext, image_id: str) -> None:
        """Delete an image.

        :raises roost.exception.Forbidden: when it is protected, for all callers
        """


@runtime_checkable
class EditableImageStore(ImageStore, Protocol):
    """A store without an API of its own: roost-api serves the writing half of Image v2 for it."""

    def change(
        self, context: RequestContext, image_id: str, edit: Callable[[ImageMeta], ImageMeta]
    ) -> ImageMeta:
        """Replace an image by the result of ``edit``, under a lock.

        :raises roost.exception.Invalid: for invalid values
        """

    def members(self, context: RequestContext, image_id: str) -> Members:
        """Return the members of a shared image, in the order of their creation."""

    def change_members(
        self, context: RequestContext, image_id: str, edit: Callable[[Members], Members]
    ) -> None:
        """Replace the members by the result of ``edit``, under a lock."""


@runtime_checkable
class OutsideImageStore(ImageStore, Protocol):
    """A store in an external service, which may hang."""

    def hasty(self) -> ImageStore:
        """Return the same store, failing at once rather than waiting for a service that hangs."""


def is_uuid(text: str) -> bool:
    """Return whether an image may have this id, which becomes part of paths."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def is_own(context: RequestContext, image: ImageMeta) -> bool:
    """Return whether the caller may change the image, for stores without policies of their own."""
    return bool(context.is_admin) or (image.owner is not None and image.owner == context.project_id)


def may_see(
    context: RequestContext, image: ImageMeta, members: Callable[[], Members] = tuple
) -> bool:
    """Return whether the caller may see the image, for stores without policies of their own.

    :param members: reads its members; called only when they decide
    """
    if image.visibility in _FOR_ALL or is_own(context, image):
        return True
    return image.visibility == SHARED and context.project_id in projects(members())


def projects(members: Members) -> Collection[str]:
    return {member.project_id for member in members}


GROUP = "roost.image"


def load_store(conf: cfg.ConfigOpts) -> ImageStore:
    """Make the configured image store.

    :raises roost.exception.Invalid: when no entry point has that name
    """
    plugin = plugins.find(GROUP, conf.image.store, option="[image] store")
    store: ImageStore = plugin.from_conf(conf)
    return store


def load_hasty_store(conf: cfg.ConfigOpts) -> ImageStore:
    """Make it ``hasty``, for callers with users waiting: see :class:`OutsideImageStore`.

    :raises roost.exception.Invalid: when no entry point has that name
    """
    store = load_store(conf)
    return store.hasty() if isinstance(store, OutsideImageStore) else store
