"""The disks of a new server: those that its user asks for, and those of its flavor.

All are local, made with the guest and gone with it. There are no volumes, so whatever would make
or take one is refused in the words that clients know.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.objects import BlockDevice, Flavor, ImageMeta

MOST: Final = 3  # local disks that one request may name
SWAP: Final = "swap"
_MIB: Final = 1024
_USUAL_NAME: Final = "vda"
_NAMES: Final = {"ide": "hda", "sata": "sda", "scsi": "sda", "usb": "sda", "xen": "xvda"}
_NO_VOLUMES: Final = "this cloud has no volumes"
_WISHES: Final = ("guest_format", "device_name", "disk_bus", "device_type", "tag")

Asked = Mapping[str, Any]


def image_of(asked: Asked) -> str:
    """Return the id of the image that the server boots from.

    :raises roost.exception.Invalid: when there is none, or there are two
    """
    _refuse_legacy(asked)
    devices = asked.get("block_device_mapping_v2") or []
    for device in devices:
        _check_local(device)
    named = {str(device.get("uuid")) for device in devices if device["source_type"] == "image"}
    if asked.get("imageRef"):
        named.add(asked["imageRef"])
    if len(named) != 1:
        raise exception.Invalid("Invalid imageRef provided.")
    return named.pop()


def devices_of(asked: Asked, flavor: Flavor) -> list[BlockDevice]:
    """Return all disks that the guest is to have: its root disk, ephemeral ones, swap.

    :raises roost.exception.Invalid: for disks that cannot be booted from, are too many or larger
        than the flavor allows
    """
    named = [_device(one, flavor) for one in asked.get("block_device_mapping_v2") or []]
    _check_boot_order(named)
    _check_names(named)
    swaps = [one for one in named if one.guest_format == SWAP]
    spaces = [one for one in named if one.source_type == "blank" and one.guest_format != SWAP]
    if len(swaps) + len(spaces) > MOST:
        raise _invalid("You specified more local devices than the limit allows")
    _check_sizes(swaps, spaces, flavor)
    roots = [one for one in named if one.source_type == "image"] or [_root(flavor)]
    return [*roots, *(spaces or _ephemeral(flavor)), *(swaps or _swap(flavor))]


def root_name(devices: Sequence[BlockDevice], image: ImageMeta) -> str:
    """Return what the disk that the server boots from is called: by its user, or by its bus."""
    root = next(one for one in devices if one.source_type == "image")
    if root.device_name is not None:
        return str(root.device_name)
    bus = root.disk_bus or image.properties.get("hw_disk_bus")
    return f"/dev/{_NAMES.get(str(bus), _USUAL_NAME)}"


def _refuse_legacy(asked: Asked) -> None:
    old = [one for one in asked.get("block_device_mapping") or [] if not one.get("no_device")]
    if old and asked.get("block_device_mapping_v2"):
        raise exception.Invalid(
            "Using different block_device_mapping syntaxes is not allowed in the same request."
        )
    for one in old:
        kind = "snapshot" if one.get("snapshot_id") else "volume"
        raise _invalid(f"failed to get {kind} {one.get(f'{kind}_id')}: {_NO_VOLUMES}")


def _check_local(device: Asked) -> None:
    source = device["source_type"]
    if source in ("volume", "snapshot"):
        raise _invalid(f"failed to get {source} {device.get('uuid')}: {_NO_VOLUMES}")
    if device.get("destination_type", "local") != "local":
        raise _invalid(f"a device cannot be made on a volume: {_NO_VOLUMES}")
    if source == "image" and not device.get("uuid"):
        raise _invalid("the device of source_type image names no image by its uuid")
    if source == "image" and _boot_index(device) != 0:
        raise _invalid("Mapping image to local is not supported.")


def _device(asked: Asked, flavor: Flavor) -> BlockDevice:
    return BlockDevice.of(
        source_type=asked["source_type"],
        boot_index=_boot_index(asked),
        size_mb=_size_mb(asked, flavor),
        **{name: asked.get(name) for name in _WISHES},
    )


def _boot_index(asked: Asked) -> int | None:
    """Return the place in the order of booting; a negative one means none."""
    index = asked.get("boot_index")
    return None if index in (None, "") or int(index) < 0 else int(index)


def _size_mb(asked: Asked, flavor: Flavor) -> int:
    """Return the size: of swap in MiB as it is asked for, of anything else in GiB."""
    size = int(asked.get("volume_size") or 0)
    if asked["source_type"] == "image":
        if 0 < flavor.root_gb < size:
            raise _invalid(f"the root disk of the flavor has {flavor.root_gb} GiB, not {size}")
        return int(flavor.root_gb) * _MIB
    if asked.get("guest_format") == SWAP:
        return size or int(flavor.swap)
    return (size or int(flavor.ephemeral_gb)) * _MIB


def _check_boot_order(devices: Sequence[BlockDevice]) -> None:
    """Let the order begin with the image, and have no gap and no doubt."""
    order = sorted(one.boot_index for one in devices if one.boot_index is not None)
    roots = [one for one in devices if one.source_type == "image"]
    if devices and (order != list(range(len(order))) or len(roots) != 1):
        raise exception.Invalid(
            "Block Device Mapping is Invalid: Boot sequence for the instance and image/block"
            " device mapping combination is not valid."
        )


def _check_names(devices: Sequence[BlockDevice]) -> None:
    names = [one.device_name for one in devices if one.device_name]
    if len({*names}) < len(names):
        raise _invalid("one device_name is given to two devices")


def _check_sizes(
    swaps: Sequence[BlockDevice], spaces: Sequence[BlockDevice], flavor: Flavor
) -> None:
    if len(swaps) > 1:
        raise _invalid("More than one swap drive requested.")
    if sum(one.size_mb for one in swaps) > flavor.swap:
        raise _invalid("Swap drive requested is larger than instance type allows.")
    if sum(one.size_mb for one in spaces) > flavor.ephemeral_gb * _MIB:
        raise _invalid(
            "Ephemeral disks requested are larger than the instance type allows. If no size is"
            " given in one block device mapping, flavor ephemeral size will be used."
        )


def _root(flavor: Flavor) -> BlockDevice:
    return BlockDevice.of(source_type="image", boot_index=0, size_mb=flavor.root_gb * _MIB)


def _ephemeral(flavor: Flavor) -> list[BlockDevice]:
    size = flavor.ephemeral_gb * _MIB
    return [BlockDevice.of(source_type="blank", boot_index=None, size_mb=size)] if size else []


def _swap(flavor: Flavor) -> list[BlockDevice]:
    if not flavor.swap:
        return []
    size = flavor.swap
    return [BlockDevice.of(source_type="blank", boot_index=None, size_mb=size, guest_format=SWAP)]


def _invalid(why: str) -> exception.Invalid:
    return exception.Invalid(f"Block Device Mapping is Invalid: {why}")
