"""Extra specs and image properties that are refused, since nothing here does what they ask for.

Who asks for an encrypted disk had better get no server than one in clear. A name leaves this table
when something reads it; what asks for nothing (``no``, ``0``) is let pass.
"""

import functools
import re
from collections.abc import Mapping
from typing import Final

from roost import exception
from roost.objects.flavor import Flavor
from roost.objects.image_meta import ImageMeta

_NOTHING: Final = ("", "0", "[]", "f", "false", "n", "no", "off")
_ENCRYPTED: Final = "disks cannot be encrypted"
_SEV: Final = "the memory of guests cannot be encrypted"
_REALTIME: Final = "real-time CPUs are not supported"
# A pattern of names -> why not, and what to do instead.
_REFUSED: Final[Mapping[str, str]] = {
    "accel:.*": "there are no accelerators; devices of hosts are had by pci_passthrough:alias",
    "group_policy": "there are no numbered groups of resources",
    "hw:cpu_realtime(_mask)?|hw_cpu_realtime(_mask)?": _REALTIME,
    "hw[:_]ephemeral_encryption(_.*)?": _ENCRYPTED,
    "hw[:_]mem_encryption(_.*)?": _SEV,
    "hw:pmem": "there is no persistent memory",
    "hw[:_]tpm_secret_security": "what TPMs keep is not encrypted, so it has no secret",
    "hw_firmware_stateless": "the variables of UEFI are always kept",
    "hw_floppy_bus": "guests have no floppies",
    "quota:(cpu|memory|disk_io|vif)_(limit|reservation|shares_share|shares_level)": (
        "only other hypervisors know it; there are quota:cpu_shares, quota:cpu_quota,"
        " quota:disk_... and quota:vif_inbound_..."
    ),
    "resources:VGPU": "there are no virtual GPUs; whole ones are had by pci_passthrough:alias",
    "resources:CUSTOM_.*": "there are no custom resources",
    "resources:(?!(VCPU|PCPU)$).*": "the sizes of a server are those of its flavor",
    "resources[^:]+:.*": "there are no numbered groups of resources: say it without the number",
    "trait[^:]+:.*": "there are no numbered groups of resources: say it without the number",
    "(img_)?block_device_mapping": "there are no volumes to boot from",
    "(img_)?mappings": "the disks of a server are those of its flavor and of who asks for it",
    "(img_)?root_device_name": "disks are called by what they are on, which hw_disk_bus says",
}


def check(flavor: Flavor, image: ImageMeta | None) -> None:
    """Make sure that a flavor and an image ask for nothing that nobody would do.

    :raises roost.exception.Invalid: naming what is asked for, why not, and what to do
    """
    instead = f" Choose another flavor, or have it removed from {flavor.name}."
    _check(flavor.extra_specs, "Extra spec", instead)
    if image is not None:
        check_image(image)


def check_image(image: ImageMeta, *, before: ImageMeta | None = None) -> None:
    """Make sure of an image alone.

    :param before: of a server that has it, or another one: what that says alike is as it is
    """
    had = before.properties.items() if before is not None else ()
    said = {name: value for name, value in image.properties.items() if (name, value) not in had}
    _check(said, "Image property", f" Choose another image, or have it removed from {image.id}.")


def check_specs(specs: Mapping[str, str]) -> None:
    """Make sure of extra specs alone."""
    _check(specs, "Extra spec")


def _check(said: Mapping[str, str], what: str, instead: str = "") -> None:
    for name, value in said.items():
        why = why_not(name)
        if why is not None and value.strip().lower() not in _NOTHING:
            raise exception.Invalid(
                f"{what} '{name}' ('{value}') is not supported: {why}.{instead}"
            )


@functools.lru_cache(maxsize=4096)
def why_not(name: str) -> str | None:
    """Return why nobody may ask for this; None: one may, as far as this table knows."""
    found = (why for pattern, why in _REFUSED.items() if re.fullmatch(pattern, name))
    return next(found, None)
