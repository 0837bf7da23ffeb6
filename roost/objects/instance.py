"""Instances (servers), their faults, and the provisions of their guests."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from oslo_versionedobjects import fields

from roost.objects import base
from roost.objects.explanation import FilterVerdict, plain
from roost.objects.flavor import Flavor, ImageMeta


@base.VersionedObjectRegistry.register
class Instance(base.RoostObject):
    """An instance: its request, location and state.

    ``attempt`` counts builds from 1; with ``uuid`` it identifies one try on one host, so that late
    or duplicate messages of earlier tries are recognized. ``keypair`` is a copy of ``key_name``'s
    at the time of the request. ``numa_topology``, ``pci`` and ``allocations`` are those of its
    claim on the node, as in InstanceResources. ``locked_by`` is "owner" for a user of its project,
    "admin" for any other. Only some readers set ``fault`` and ``provisions``; lists leave
    ``user_data`` None for users who may not see it. ``disk_config`` is "AUTO" or "MANUAL".
    ``soft_deleted_at`` is the time of its soft delete; until it is reclaimed it can be restored.
    ``shelved_image_id``: of the image from which a shelved one can be made again.
    ``instance_name`` is the guest's name for its hypervisor: see :func:`guest_name`.
    """

    # 1.1: allocations
    # 1.2: instance_name
    # 1.3: shelved_image_id
    VERSION = "1.3"
    fields = {
        "uuid": fields.UUIDField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "reservation_id": fields.StringField(),
        "launch_index": fields.IntegerField(),
        "display_name": fields.StringField(),
        "display_description": fields.StringField(nullable=True),
        "hostname": fields.StringField(),
        "instance_name": fields.StringField(nullable=True, default=base.NOTHING),
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
        "allocations": base.DictOfDictsOfIntegersField(default={}),
        "attempt": fields.IntegerField(),
        "vm_state": fields.StringField(),
        "task_state": fields.StringField(nullable=True),
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
        "shelved_image_id": fields.UUIDField(nullable=True, default=base.NOTHING),
        "deleted_at": base.DateTimeField(nullable=True),
        "fault": fields.ObjectField("InstanceFault", nullable=True),
    }


def guest_name(instance: Instance) -> str:
    """Return the name of an instance's guest; those of earlier releases have none stored."""
    return str(instance.instance_name or f"roost-{instance.uuid}")


_COUNTED: Final = "counted"


@base.VersionedObjectRegistry.register
class InstanceFault(base.RoostObject):
    """The latest fault of an instance: ``message`` for its user, ``details`` for an admin.

    If no valid host was found, the details are JSON: see :func:`placement_details`.
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
    """Return the details of a fault for a request that the schedulers could not place.

    :param counted: the fault's message, with the numbers of refused hosts
    """
    table = [plain(verdict) for verdict in verdicts]
    return json.dumps({_COUNTED: counted, "filters": table}, separators=(",", ":"))


def counted_message(fault: InstanceFault) -> str | None:
    """Return the message of a fault with the numbers of refused hosts, if it has one."""
    try:
        details: Any = json.loads(fault.details or "")
    except ValueError:
        return None
    return details.get(_COUNTED) if isinstance(details, dict) else None


IMAGE: Final = "image"  # the source of a disk that a guest boots from
SWAP: Final = "swap"
_MIB_PER_GIB: Final = 1024
UNFORMATTED: Final = "none"
FILE_SYSTEMS: Final = ("ext2", "ext3", "ext4", "vfat", "xfs")
FORMATS: Final = (*FILE_SYSTEMS, UNFORMATTED, SWAP)  # of a disk without an image


@base.VersionedObjectRegistry.register
class InjectedFile(base.RoostObject):
    """A file to inject into the guest at ``path``; ``contents`` are the user's base64."""

    VERSION = "1.0"
    fields = {
        "path": fields.StringField(),
        "contents": fields.StringField(),
    }


@base.VersionedObjectRegistry.register
class BlockDevice(base.RoostObject):
    """A disk of the guest, which is deleted with it.

    ``source_type`` is "image" for the boot disk, "blank" for all others, of which one with
    ``guest_format`` "swap" is swap space. ``size_mb`` is MiB; 0 for a root disk means as large as
    its image. ``boot_index`` is None for disks that are not booted from. ``device_name``,
    ``disk_bus`` and ``device_type`` are the user's preferences; ``tag`` is the user's name for it.
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
    """Large or secret values that only the build of the guest needs.

    ``admin_password`` is cleared as soon as the guest has been built, and with the ``files`` when
    the build failed; ``block_devices`` are all of its disks, including those of the flavor;
    ``boot_roles`` are the roles of the user who created it, ``user_name`` and ``project_name`` the
    names of its owner then.
    """

    # 1.1: boot_roles
    # 1.2: user_name, project_name
    VERSION = "1.2"
    fields = {
        "files": fields.ListOfObjectsField("InjectedFile", default=[]),
        "block_devices": fields.ListOfObjectsField("BlockDevice", default=[]),
        "admin_password": fields.StringField(nullable=True, default=base.NOTHING),
        "boot_roles": fields.ListOfStringsField(default=[]),
        "user_name": fields.StringField(nullable=True, default=base.NOTHING),
        "project_name": fields.StringField(nullable=True, default=base.NOTHING),
    }

    def forget_secrets(self) -> None:
        """Clear the password and the files, which no guest will get any more."""
        self.admin_password, self.files = None, []
        self.obj_reset_changes()


def devices_for(devices: Sequence[BlockDevice], old: Flavor, new: Flavor) -> list[BlockDevice]:
    """Return the disks of a guest that gets another flavor.

    Those that are as large as the old flavor allows follow the new one; smaller ones, which the
    user has sized, stay.
    """
    if not devices:  # then its flavor alone says what it has
        return []
    sizes = {
        IMAGE: (old.root_gb * _MIB_PER_GIB, new.root_gb * _MIB_PER_GIB),
        SWAP: (old.swap, new.swap),
        None: (old.ephemeral_gb * _MIB_PER_GIB, new.ephemeral_gb * _MIB_PER_GIB),
    }
    kinds = [_kind_of(device) for device in devices]
    found = []
    for kind, device in zip(kinds, devices, strict=True):
        before, after = sizes[kind]
        if device.size_mb == before or (kind == SWAP and device.size_mb > after):
            changed = device.obj_clone()
            changed.size_mb = after
            found.append(changed)
        else:
            found.append(device)
    for kind in (None, SWAP):
        if kind not in kinds and sizes[kind][1]:
            size = sizes[kind][1]
            made = {"boot_index": None, "size_mb": size, "guest_format": kind}
            found.append(BlockDevice.of(source_type="blank", **made))
    return [one for one in found if one.size_mb or one.source_type == IMAGE]


def _kind_of(device: BlockDevice) -> str | None:
    if device.source_type == IMAGE:
        return IMAGE
    return SWAP if device.guest_format == SWAP else None


_FOLDER: Final = "/dev/"
_USUAL: Final = "vda"
_NAMES: Final = {"ide": "hda", "sata": "sda", "scsi": "sda", "usb": "sda"}


def name_of(instance: Instance) -> str:
    """Return an instance's root device name; instances of earlier releases have none stored."""
    given = instance.provisions.block_devices if instance.provisions else []
    return str(instance.root_device_name or name_by(given, instance.image))


def name_by(devices: Iterable[BlockDevice], image: ImageMeta | None) -> str:
    """Return the root device name that the user chose, or else the default of its bus."""
    root = next((one for one in devices if one.source_type == IMAGE), None)
    if root is not None and root.device_name:
        return _FOLDER + str(root.device_name).removeprefix(_FOLDER)
    bus = (root and root.disk_bus) or (image and image.properties.get("hw_disk_bus"))
    return _FOLDER + _NAMES.get(str(bus).strip(), _USUAL)
