"""What a guest is provided with when it is made, beside what its instance's row says."""

from typing import Final

from oslo_versionedobjects import fields

from roost.objects import base

IMAGE: Final = "image"  # the source of a disk that a guest boots from
SWAP: Final = "swap"
UNFORMATTED: Final = "none"
FILE_SYSTEMS: Final = ("ext2", "ext3", "ext4", "vfat", "xfs")
FORMATS: Final = (*FILE_SYSTEMS, UNFORMATTED, SWAP)  # of a disk without an image


@base.VersionedObjectRegistry.register
class InjectedFile(base.RoostObject):
    """A file that the guest is to find at ``path``; ``contents`` are base64, as the user sent."""

    VERSION = "1.0"
    fields = {
        "path": fields.StringField(),
        "contents": fields.StringField(),
    }


@base.VersionedObjectRegistry.register
class BlockDevice(base.RoostObject):
    """A disk of the guest, which goes with it.

    ``source_type`` is "image" for the disk that it boots from, "blank" for all others, of which one
    with ``guest_format`` "swap" is swap space. ``size_mb`` is MiB; 0 for a root disk means as large
    as its image. ``boot_index`` is None for what is not booted from. ``device_name``, ``disk_bus``
    and ``device_type`` are what the user would like; ``tag`` is the user's name for it.
    """

    VERSION = "1.0"
    fields = {
        "source_type": fields.StringField(),
        "boot_index": fields.IntegerField(nullable=True),
        "size_mb": fields.IntegerField(),
        "guest_format": fields.StringField(nullable=True, default=base.NOTHING),
        "device_name": fields.StringField(nullable=True, default=base.NOTHING),
        "disk_bus": fields.StringField(nullable=True, default=base.NOTHING),
        "device_type": fields.StringField(nullable=True, default=base.NOTHING),
        "tag": fields.StringField(nullable=True, default=base.NOTHING),
    }


@base.VersionedObjectRegistry.register
class Provisions(base.RoostObject):
    """What may be large or secret, and only whoever makes the guest needs.

    ``admin_password`` is forgotten as soon as the guest has been built, and with the ``files`` when
    that failed; ``block_devices`` are all
    of its disks, those that follow from its flavor, too; ``boot_roles`` are those that its user had
    who created it.
    """

    # 1.1: boot_roles
    VERSION = "1.1"
    fields = {
        "files": fields.ListOfObjectsField("InjectedFile", default=[]),
        "block_devices": fields.ListOfObjectsField("BlockDevice", default=[]),
        "admin_password": fields.StringField(nullable=True, default=base.NOTHING),
        "boot_roles": fields.ListOfStringsField(default=[]),
    }

    def forget_secrets(self) -> None:
        """Forget what no guest will get any more: the password and the files."""
        self.admin_password, self.files = None, []
        self.obj_reset_changes()
