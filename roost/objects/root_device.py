"""What the disk that a server boots from is called."""

from collections.abc import Iterable
from typing import Final

from roost.objects.image_meta import ImageMeta
from roost.objects.instance import Instance
from roost.objects.provisions import IMAGE, BlockDevice

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
