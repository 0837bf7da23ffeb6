"""What OpenStack knows of a new server and Roost does not: said, rather than silently dropped."""

from typing import Any

from roost import exception


def check(asked: dict[str, Any]) -> None:
    """Raise :class:`roost.exception.Invalid` for the first thing that we could not honour."""
    if asked.get("key_name"):
        raise exception.Invalid("Invalid key_name provided: this cloud has no key pairs.")
    if asked.get("personality"):
        raise exception.Invalid("personality is not supported: use user_data instead.")
    if asked.get("trusted_image_certificates"):
        raise exception.Invalid("trusted_image_certificates is not supported by this cloud.")
    groups = [group.get("name") for group in asked.get("security_groups", [])]
    if any(name != "default" for name in groups):
        raise exception.Invalid("Security group not found: this cloud has only 'default'.")
    if asked.get("block_device_mapping"):
        raise exception.Invalid("block_device_mapping is not supported: this cloud has no volumes.")
    devices = asked.get("block_device_mapping_v2") or []
    if len(devices) > 1 or not all(map(_is_the_image, devices)):
        raise exception.Invalid(
            "block_device_mapping_v2 is not supported but for the image itself: this cloud has no"
            " volumes."
        )


def image_of(asked: dict[str, Any]) -> str:
    """Return the id of the image, which the only block device may name, too.

    :raises roost.exception.Invalid: when there is none, or there are two
    """
    named = {device.get("uuid") for device in asked.get("block_device_mapping_v2") or []}
    if asked.get("imageRef"):
        named.add(asked["imageRef"])
    if len(named) != 1:
        raise exception.Invalid("Invalid imageRef provided.")
    (image_id,) = named
    return str(image_id)


def _is_the_image(device: dict[str, Any]) -> bool:
    """Tell whether a device says just what ``imageRef`` would: that is how clients write it."""
    return (
        device.get("source_type") == "image"
        and device.get("destination_type", "local") == "local"
        and device.get("boot_index") in (0, "0")
        and isinstance(device.get("uuid"), str)
        and not device.get("volume_size")
    )
