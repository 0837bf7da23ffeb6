"""Guest configuration of a new server: disks, administrator's password, files, key pair.

Files come from "personality", before microversion 2.57; the key pair belongs to the caller.
"""

import base64
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.api.servers.block_devices import devices_of
from roost.context import RequestContext
from roost.db.api import keypairs
from roost.db.engine import Database
from roost.hardware.properties import HardwareProperties
from roost.objects import Flavor, GuestConfig, ImageMeta, InjectedFile, Keypair

# Resource -> the error message.
_SAID: Final = {
    "injected_files": "Personality file limit exceeded: {asked} files, but at most {most}",
    "injected_file_path_bytes": "Personality file path exceeds maximum {most}",
    "injected_file_content_bytes": "Personality file content exceeds maximum {most}",
}


def files_of(asked: Mapping[str, Any]) -> list[InjectedFile]:
    """Return the files in the order of the request."""
    return [InjectedFile.of(**file) for file in asked.get("personality") or []]


def check(files: Sequence[InjectedFile], *, limits: Mapping[str, int]) -> None:
    """Check the quota of injected files; contents count decoded.

    :param limits: of the project by resource; -1: no limit
    :raises roost.exception.QuotaExceeded: when one is exceeded
    """
    sizes = {
        "injected_files": len(files),
        "injected_file_path_bytes": max((len(file.path.encode()) for file in files), default=0),
        "injected_file_content_bytes": max((_size(file) for file in files), default=0),
    }
    for name, size in sizes.items():
        if 0 <= limits[name] < size:
            raise exception.QuotaExceeded(
                _SAID[name].format(asked=size, most=limits[name]),
                resources=[name],
                asked={name: size},
                limits={name: limits[name]},
            )


def _size(file: InjectedFile) -> int:
    return len(base64.b64decode(file.contents))


AUTO: Final = "AUTO"
MANUAL: Final = "MANUAL"
_RESIZES: Final = ("hw_auto_disk_config", "auto_disk_config")  # an image's properties for it
_YES: Final = ("1", "t", "true", "on", "y", "yes")


def provisions_of(
    asked: Mapping[str, Any], flavor: Flavor, image: ImageMeta, *, context: RequestContext
) -> GuestConfig:
    """Return the configuration that only the build of the guest needs.

    :param context: of the user who creates the server
    :raises roost.exception.Invalid: for unsupported disks
    """
    return GuestConfig.of(
        files=files_of(asked),
        block_devices=devices_of(asked, HardwareProperties(flavor, image), flavor),
        admin_password=asked.get("adminPass") or password(),
        boot_roles=sorted(context.roles or ()),
        user_name=context.user_name,
        project_name=context.project_name,
    )


def password() -> str:
    """Return a new password of twelve letters and digits."""
    return secrets.token_urlsafe(16).replace("-", "a").replace("_", "b")[:12]


def disk_config_of(asked: Mapping[str, Any], image: ImageMeta) -> str:
    """Return whether the guest's file system grows with its disk, by the request or the image.

    :raises roost.exception.Invalid: when the image forbids the requested value
    """
    said = next((image.properties[name] for name in _RESIZES if name in image.properties), None)
    may = said is None or said.strip().lower() in _YES
    wanted: str = asked.get("OS-DCF:diskConfig") or (AUTO if said is not None and may else MANUAL)
    if wanted == AUTO and not may:
        raise exception.Invalid(f"Requested image {image.id} has automatic disk resize disabled.")
    return wanted


def keypair_of(
    asked: Mapping[str, Any], context: RequestContext, database: Database
) -> Keypair | None:
    """Return a copy of the key pair, which the server keeps when the key pair is deleted.

    :raises roost.exception.Invalid: when the caller has none of this name
    """
    name = asked.get("key_name")
    if name is None:
        return None
    found = database.query(keypairs.find, str(context.user_id), name)
    if found is None:
        raise exception.Invalid("Invalid key_name provided.")
    return found
