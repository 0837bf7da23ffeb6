"""What a new server's guest is provided with: disks, files, the administrator's password."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.api.server_devices import devices_of
from roost.api.server_files import files_of
from roost.objects import Flavor, ImageMeta, Provisions
from roost.objects.hardware_words import HardwareWords

AUTO: Final = "AUTO"
MANUAL: Final = "MANUAL"
_RESIZES: Final = ("hw_auto_disk_config", "auto_disk_config")  # by which an image says it
_YES: Final = ("1", "t", "true", "on", "y", "yes")


def provisions_of(
    asked: Mapping[str, Any], flavor: Flavor, image: ImageMeta, *, roles: Sequence[str] = ()
) -> Provisions:
    """Return all that only whoever makes the guest needs.

    :param roles: those of the user who asks
    :raises roost.exception.Invalid: for disks that cannot be had
    """
    return Provisions.of(
        files=files_of(asked),
        block_devices=devices_of(asked, HardwareWords(flavor, image), flavor),
        admin_password=asked.get("adminPass") or password(),
        boot_roles=sorted(roles),
    )


def password() -> str:
    """Return a new password of twelve letters and digits."""
    return secrets.token_urlsafe(16).replace("-", "a").replace("_", "b")[:12]


def disk_config_of(asked: Mapping[str, Any], image: ImageMeta) -> str:
    """Return whether the guest's file system grows with its disk: as asked for, or as images say.

    :raises roost.exception.Invalid: when the image forbids what is asked for
    """
    said = next((image.properties[name] for name in _RESIZES if name in image.properties), None)
    may = said is None or said.strip().lower() in _YES
    wanted: str = asked.get("OS-DCF:diskConfig") or (AUTO if said is not None and may else MANUAL)
    if wanted == AUTO and not may:
        raise exception.Invalid(f"Requested image {image.id} has automatic disk resize disabled.")
    return wanted
