"""What Roost asks of an image store: the seam that ``roost.image`` plug-ins fill.

A plug-in is a class with ``from_conf(conf)``, named by an entry point of that group; ``load_store``
makes the one that ``[image] store`` names.
"""

import dataclasses
import datetime
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
QUEUED: Final = "queued"  # described, but without data
ACTIVE: Final = "active"
SHARED: Final = "shared"
PENDING: Final = "pending"
ACCEPTED: Final = "accepted"
MEMBER_STATUSES: Final = (PENDING, ACCEPTED, "rejected")
_FOR_ALL: Final = ("public", "community")
# Properties by which an image names others that its guests are started by.
KERNEL_ID: Final = "kernel_id"
RAMDISK_ID: Final = "ramdisk_id"
KERNEL_BYTES: Final = 512 << 20  # that each may have: hosts copy them for every guest, uncounted


@dataclasses.dataclass(frozen=True)
class ImageMember:
    """A project that a shared image is for, too, and what it says to that (``status``)."""

    project_id: str
    status: str
    created_at: datetime.datetime
    updated_at: datetime.datetime


Members = Sequence[ImageMember]
EditProperties = Callable[[Mapping[str, str]], Mapping[str, str]]


class ImageStore(Protocol):
    """Keeps images whole: what it lists as active can be opened, and is what its hash says.

    The context says who asks. Others' private images are not found. A daemon that asks for itself,
    without a user's token, asks as the service that it is.

    All methods end within a bounded time.

    :raises roost.exception.NotFound: (all) when there is no such image for this caller
    :raises roost.exception.Forbidden: (all) when the caller may not do this
    :raises roost.exception.Unavailable: (all) when the store does not answer now
    :raises roost.exception.Internal: (all) when the store has lost or damaged the image
    """

    def list_images(self, context: RequestContext) -> list[ImageMeta]:
        """Return all images that the caller may see, the oldest first."""

    def get(self, context: RequestContext, image_id: str) -> ImageMeta:
        """Return what is known of an image."""

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
        """Take in an image, whole or not at all; size and hash come from ``data``.

        :param min_ram: MiB that a server needs to boot from it
        :param min_disk: GiB that its root disk needs
        :raises roost.exception.Invalid: for values that mean nothing
        """

    def create(self, context: RequestContext, image: ImageMeta) -> ImageMeta:
        """Describe an image whose data is still to come, and return it as it waits: *queued*.

        :raises roost.exception.Conflict: when there is one of this id, so it may be said twice
        :raises roost.exception.Invalid: for values that mean nothing
        """

    def upload(self, context: RequestContext, image_id: str, data: BinaryIO) -> ImageMeta:
        """Give a queued image its data, once, whole or not at all, and return it as *active*.

        What reading ``data`` raises is raised.

        :raises roost.exception.Conflict: when it has data
        """

    def change_properties(
        self, context: RequestContext, image_id: str, edit: EditProperties
    ) -> ImageMeta:
        """Put what ``edit`` makes of an image's properties in their place; return it as it is then.

        :raises roost.exception.Invalid: for values that mean nothing
        """

    def abandon(self, context: RequestContext, image_id: str) -> None:
        """Forget an image whose data will not come. May be repeated; active images are left."""

    def delete(self, context: RequestContext, image_id: str) -> None:
        """Forget an image.

        :raises roost.exception.Forbidden: when it is protected, whoever asks
        """


@runtime_checkable
class EditableImageStore(ImageStore, Protocol):
    """A store without an API of its own: the api serves the writing half of Image for it."""

    def change(
        self, context: RequestContext, image_id: str, edit: Callable[[ImageMeta], ImageMeta]
    ) -> ImageMeta:
        """Put what ``edit`` makes of an image in its place; nobody else changes it meanwhile.

        :raises roost.exception.Invalid: for values that mean nothing
        """

    def members(self, context: RequestContext, image_id: str) -> Members:
        """Return whom a shared image is for beside its owner, in the order that they came."""

    def change_members(
        self, context: RequestContext, image_id: str, edit: Callable[[Members], Members]
    ) -> None:
        """Put what ``edit`` makes of the members in their place; nobody else does meanwhile."""


@runtime_checkable
class OutsideImageStore(ImageStore, Protocol):
    """A store that is another service, which may hang."""

    def hasty(self) -> ImageStore:
        """Return the same one, which rather fails at once than wait while that service hangs."""


def is_own(context: RequestContext, image: ImageMeta) -> bool:
    """Return whether the caller may change the image, where the store leaves that to us."""
    return bool(context.is_admin) or (image.owner is not None and image.owner == context.project_id)


def may_see(
    context: RequestContext, image: ImageMeta, members: Callable[[], Members] = tuple
) -> bool:
    """Return whether there is such an image for this caller, where the store leaves that to us.

    :param members: reads whom it is shared with; asked when that decides
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
    """Make the same for who has users waiting: see :class:`roost.image.driver.OutsideImageStore`.

    :raises roost.exception.Invalid: when no entry point has that name
    """
    store = load_store(conf)
    return store.hasty() if isinstance(store, OutsideImageStore) else store
