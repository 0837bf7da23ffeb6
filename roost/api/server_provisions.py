"""What a new server's guest is provided with: disks, files, the administrator's password."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.api.server_devices import devices_of
from roost.api.server_files import files_of
from roost.objects import Flavor, ImageMeta, Provisions

AUTO: Final = "AUTO"
MANUAL: Final = "MANUAL"
_RESIZES: Final = "auto_disk_config"  # what an image says of it
_YES: Final = ("1", "t", "true", "on", "y", "yes")


def provisions_of(
    asked: Mapping[str, Any], flavor: Flavor, *, roles: Sequence[str] = ()
) -> Provisions:
    """Return all that only whoever makes the guest needs.

    :param roles: those of the user who asks
    :raises roost.exception.Invalid: for disks that cannot be had
    """
    return Provisions.of(
        files=files_of(asked),
        block_devices=devices_of(asked, flavor),
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
    said = image.properties.get(_RESIZES)
    may = said is None or said.strip().lower() in _YES
    wanted: str = asked.get("OS-DCF:diskConfig") or (AUTO if said is not None and may else MANUAL)
    if wanted == AUTO and not may:
        raise exception.Invalid(f"Requested image {image.id} has automatic disk resize disabled.")
    return wanted
