"""Block devices of a new server: the disks that its user requests, and those of its flavor.

All disks are local, created with the guest and deleted with it. There are no volumes: a device that
would create or use one is refused, with Nova's error messages.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.api.request import truth
from roost.hardware import rules
from roost.hardware.properties import HardwareProperties, choice
from roost.hardware.values import BUSES
from roost.objects import BlockDevice, Flavor
from roost.objects.instance import FORMATS, IMAGE, SWAP

MOST: Final = 3  # local disks that one request may specify
_MIB: Final = 1024
_NO_VOLUMES: Final = "this cloud has no volumes"
_OF_VOLUMES: Final = ("volume_id", "snapshot_id", "volume_type")
_DISK: Final = "disk"
_NOTHING_SAID: Final = (None, "")
_OPTIONAL: Final = ("guest_format", "device_name", "disk_bus", "device_type", "tag")

Asked = Mapping[str, Any]


def image_of(asked: Asked) -> str:
    """Return the id of the image that the server boots from.

    :raises roost.exception.Invalid: when there is none, or more than one
    """
    _refuse_legacy(asked)
    devices = _named(asked)
    for device in devices:
        _check_local(device)
    named = {str(device.get("uuid")) for device in devices if device["source_type"] == IMAGE}
    if asked.get("imageRef"):
        named.add(asked["imageRef"])
    if len(named) != 1:
        raise exception.Invalid("Invalid imageRef provided.")
    return named.pop()


def devices_of(asked: Asked, properties: HardwareProperties, flavor: Flavor) -> list[BlockDevice]:
    """Return all disks of the guest: its root disk, ephemeral ones, swap.

    :param properties: of its flavor and image, which define its buses
    :raises roost.exception.Invalid: for disks that cannot be booted from, are too many or larger
        than the flavor allows, or have unsupported attributes
    """
    named = [_device(one, properties, flavor) for one in _named(asked)]
    _check_boot_order(named)
    _check_names(named)
    swaps = [one for one in named if one.guest_format == SWAP]
    spaces = [one for one in named if one.source_type == "blank" and one.guest_format != SWAP]
    if len(swaps) + len(spaces) > MOST:
        raise _invalid("You specified more local devices than the limit allows")
    _check_sizes(swaps, spaces, flavor)
    roots = [one for one in named if one.source_type == IMAGE] or [_root(flavor)]
    return [*roots, *(spaces or _ephemeral(flavor)), *(swaps or _swap(flavor))]


def _named(asked: Asked, key: str = "block_device_mapping_v2") -> list[Asked]:
    """Return the requested devices, without those marked ``no_device``."""
    said = asked.get(key) or []
    return [one for one in said if not truth(str(one.get("no_device") or ""), name="no_device")]


def _refuse_legacy(asked: Asked) -> None:
    old = _named(asked, "block_device_mapping")
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
        raise _invalid(f"a device cannot be created on a volume: {_NO_VOLUMES}")
    if source == IMAGE and not device.get("uuid"):
        raise _invalid("the device of source_type image has no uuid of an image")
    if source == IMAGE and _boot_index(device) != 0:
        raise _invalid("Mapping image to local is not supported.")
    for name in _OF_VOLUMES:
        if device.get(name):
            raise _invalid(f"{name} is '{device[name]}', but {_NO_VOLUMES}: leave it out")
    if (device.get("image_id") or device.get("uuid")) != device.get("uuid"):
        raise _invalid("image_id and uuid are not the same: leave image_id out")
    _check_kind(device)


def _check_kind(device: Asked) -> None:
    """Refuse unsupported device types and guest formats."""
    kind, content = device.get("device_type"), device.get("guest_format")
    if kind not in _NOTHING_SAID and kind != _DISK:
        raise _invalid(
            f"device_type is '{kind}', but must be {_DISK}: no other devices can be requested"
        )
    if content in _NOTHING_SAID:
        return
    if device["source_type"] == IMAGE:
        raise _invalid(
            f"guest_format is '{content}', but the image defines the format of its disk: leave"
            " guest_format out"
        )
    choice("guest_format", content, FORMATS)


def _device(asked: Asked, properties: HardwareProperties, flavor: Flavor) -> BlockDevice:
    bus = choice("disk_bus", asked.get("disk_bus") or None, BUSES)
    if bus is not None:
        rules.check_own_bus(properties, "disk_bus", bus)
    return BlockDevice.of(
        source_type=asked["source_type"],
        boot_index=_boot_index(asked),
        size_mb=_size_mb(asked, flavor),
        **{name: asked.get(name) or None for name in _OPTIONAL},
    )


def _boot_index(asked: Asked) -> int | None:
    """Return the position in the boot order; a negative index means none."""
    index = asked.get("boot_index")
    return None if index in (None, "") or int(index) < 0 else int(index)


def _size_mb(asked: Asked, flavor: Flavor) -> int:
    """Return the size in MiB; a request has the size of swap in MiB, of anything else in GiB."""
    size = int(asked.get("volume_size") or 0)
    if asked["source_type"] == IMAGE:
        if size and not flavor.root_gb:
            raise _invalid(
                f"volume_size is {size}, but a root disk of this flavor is as large as its image:"
                " leave it out, or choose another flavor"
            )
        if size > flavor.root_gb:
            raise _invalid(f"the root disk of the flavor has {flavor.root_gb} GiB, not {size}")
        return int(flavor.root_gb) * _MIB
    if asked.get("guest_format") == SWAP:
        return size or int(flavor.swap)
    return (size or int(flavor.ephemeral_gb)) * _MIB


def _check_boot_order(devices: Sequence[BlockDevice]) -> None:
    """Make sure that the boot order has no gap and no duplicate, and exactly one image."""
    order = sorted(one.boot_index for one in devices if one.boot_index is not None)
    roots = [one for one in devices if one.source_type == IMAGE]
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
