"""One server, as everything inside calls it; its fault, and what its guest is provided with."""

import json
from collections.abc import Iterable
from typing import Any, Final

from oslo_versionedobjects import fields

from roost.objects import base
from roost.objects.explanation import FilterVerdict, plain
from roost.objects.flavor import ImageMeta


@base.VersionedObjectRegistry.register
class Instance(base.RoostObject):
    """An instance: what was asked for, where it is, and in which state.

    ``attempt`` counts builds from 1; together with ``uuid`` it names one try on one host, so that a
    late or doubled message of an earlier try can be told apart. ``keypair`` is that of ``key_name``
    as it was when the instance was asked for. ``numa_topology`` and ``pci`` are where it is on its
    node, as its claim there says. ``locked_by`` is "owner" for somebody of its project, "admin" for
    anybody else. ``fault`` and ``provisions`` are set by readers that ask for them; lists leave
    ``user_data`` None for whom it is not shown. ``disk_config`` is "AUTO" or "MANUAL".
    ``soft_deleted_at`` is since when it is put away; until it is reclaimed it can be restored.
    ``task_image`` is the image that the task under way is about, and goes with it.
    """

    VERSION = "1.0"
    fields = {
        "uuid": fields.UUIDField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "reservation_id": fields.StringField(),
        "launch_index": fields.IntegerField(),
        "display_name": fields.StringField(),
        "display_description": fields.StringField(nullable=True),
        "hostname": fields.StringField(),
        "flavor": fields.ObjectField("Flavor"),
        "image": fields.ObjectField("ImageMeta", nullable=True),
        "key_name": fields.StringField(nullable=True),
        "keypair": fields.ObjectField("Keypair", nullable=True, default=base.NOTHING),
        "user_data": fields.StringField(nullable=True),
        "config_drive": fields.BooleanField(),
        "disk_config": fields.StringField(default="MANUAL"),
        "root_device_name": fields.StringField(nullable=True, default=base.NOTHING),
        "security_groups": fields.ListOfStringsField(default=["default"]),
        "trusted_certs": fields.ListOfStringsField(default=[]),
        "provisions": fields.ObjectField("GuestConfig", nullable=True, default=base.NOTHING),
        "metadata": fields.DictOfStringsField(),
        "tags": fields.ListOfStringsField(),
        "access_ip_v4": fields.StringField(nullable=True),
        "access_ip_v6": fields.StringField(nullable=True),
        "availability_zone": fields.StringField(nullable=True),
        "host": fields.StringField(nullable=True),
        "node": fields.StringField(nullable=True),
        "numa_topology": fields.ObjectField(
            "InstanceNUMATopology", nullable=True, default=base.NOTHING
        ),
        "pci": fields.ListOfObjectsField("PciAllocation", default=[]),
        "attempt": fields.IntegerField(),
        "vm_state": fields.StringField(),
        "task_state": fields.StringField(nullable=True),
        "task_image": fields.ObjectField("ImageMeta", nullable=True, default=base.NOTHING),
        "power_state": fields.IntegerField(),
        "locked": fields.BooleanField(default=False),
        "locked_by": fields.StringField(nullable=True, default=base.NOTHING),
        "locked_reason": fields.StringField(nullable=True, default=base.NOTHING),
        "networks": fields.ListOfObjectsField("NetworkRequest"),
        "network_info": fields.ObjectField("NetworkInfo", nullable=True),
        "created_at": base.DateTimeField(),
        "updated_at": base.DateTimeField(nullable=True),
        "launched_at": base.DateTimeField(nullable=True),
        "soft_deleted_at": base.DateTimeField(nullable=True, default=base.NOTHING),
        "deleted_at": base.DateTimeField(nullable=True),
        "fault": fields.ObjectField("InstanceFault", nullable=True),
    }


_COUNTED: Final = "counted"


@base.VersionedObjectRegistry.register
class InstanceFault(base.RoostObject):
    """The latest fault of an instance: ``message`` for its user, ``details`` for an admin.

    The details of one that no host could take are JSON: see :func:`placement_details`.
    """

    VERSION = "1.0"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "code": fields.IntegerField(),
        "message": fields.StringField(),
        "details": fields.StringField(nullable=True),
        "host": fields.StringField(nullable=True),
        "created_at": base.DateTimeField(),
    }


def placement_details(counted: str, verdicts: Iterable[FilterVerdict]) -> str:
    """Return what a fault remembers of a question to the schedulers that had no answer.

    :param counted: the fault's message, with numbers
    """
    table = [plain(verdict) for verdict in verdicts]
    return json.dumps({_COUNTED: counted, "filters": table}, separators=(",", ":"))


def counted_message(fault: InstanceFault) -> str | None:
    """Return the message of a fault with numbers, if it is about hosts that were refused."""
    try:
        told: Any = json.loads(fault.details or "")
    except ValueError:
        return None
    return told.get(_COUNTED) if isinstance(told, dict) else None


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
class GuestConfig(base.RoostObject):
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


_FOLDER: Final = "/dev/"
_USUAL: Final = "vda"
_NAMES: Final = {"ide": "hda", "sata": "sda", "scsi": "sda", "usb": "sda"}


def name_of(instance: Instance) -> str:
    """Return the name of an instance's; one of an earlier release has none written down."""
    given = instance.provisions.block_devices if instance.provisions else []
    return str(instance.root_device_name or name_by(given, instance.image))


def name_by(devices: Iterable[BlockDevice], image: ImageMeta | None) -> str:
    """Return what it is called by its user, or else by its bus."""
    root = next((one for one in devices if one.source_type == IMAGE), None)
    if root is not None and root.device_name:
        return _FOLDER + str(root.device_name).removeprefix(_FOLDER)
    bus = (root and root.disk_bus) or (image and image.properties.get("hw_disk_bus"))
    return _FOLDER + _NAMES.get(str(bus).strip(), _USUAL)
