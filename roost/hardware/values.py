"""Which values extra specs and image properties may have, as far as no host is needed to tell.

Names with a colon are extra specs of flavors, all others properties of images. They are for the
API, which refuses what no host could make anything of, and for the hosts, which read the values.

Some are refused because nothing here does what they ask for: who asks for an encrypted disk had
better get no server than one in clear. A name leaves that table when something reads it; what asks
for nothing (``no``, ``0``) is let pass.
"""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from roost import exception
from roost.hardware.properties import HardwareProperties, choice, number, truth
from roost.objects.flavor import Flavor, ImageMeta

IDE: Final = "ide"
SCSI: Final = "scsi"
VIRTIO: Final = "virtio"
BUSES: Final = (IDE, "sata", SCSI, "usb", VIRTIO)
VIDEO_MODELS: Final = ("bochs", "cirrus", "none", "qxl", "vga", "virtio", "vmvga")
VIF_MODELS: Final = (
    *("e1000", "e1000e", "ne2k_pci", "pcnet", "rtl8139"),
    *("virtio", "vmxnet3"),
)
SOUND_MODELS: Final = ("ac97", "es1370", "ich6", "ich9", "sb16", "usb")
NO_USB: Final = "none"
USB_MODELS: Final = ("nec-xhci", NO_USB, "qemu-xhci")
VIOMMU_MODELS: Final = ("auto", "intel", VIRTIO)
EMULATE: Final = "emulate"
ADDRESS_MODES: Final = (EMULATE, "passthrough")
CDROM: Final = "cdrom"
RESCUE_DEVICES: Final = (CDROM, "disk")
MOST_SERIAL_PORTS: Final = 4  # that a PC has
_T = TypeVar("_T")
_SECURE: Final = ("required", "optional", "disabled")
_ACTIONS: Final = ("disabled", "none", "pause", "poweroff", "reset")
# What flavor (``hw:``) and image (``hw_``) may both say, and must then say alike.
AGREED_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "input_bus": ("usb", VIRTIO),
    "maxphysaddr_mode": ADDRESS_MODES,
    "pointer_model": ("ps2mouse", "usbtablet"),
    "sound_model": SOUND_MODELS,
    "tpm_model": ("tpm-crb", "tpm-tis"),
    "tpm_version": ("1.2", "2.0"),
    "usb_model": USB_MODELS,
    "viommu_model": VIOMMU_MODELS,
}
AGREED_TRUTHS: Final = ("locked_memory", "pmu", "virtio_packed_ring")
AGREED_NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "maxphysaddr_bits": (32, 52),
    "redirected_usb_ports": (0, 15),
}
_BOTH: Final = ("hw:", "hw_")
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "hw_cdrom_bus": tuple(bus for bus in BUSES if bus != VIRTIO),
    "hw_disk_bus": BUSES,
    "hw_firmware_type": ("bios", "uefi"),
    "hw_rng_model": (VIRTIO,),
    "hw_scsi_model": ("lsilogic", "lsisas1068", "lsisas1078", "virtio-scsi", "vmpvscsi"),
    "hw_video_model": VIDEO_MODELS,
    "hw_vif_model": VIF_MODELS,
    "hw:watchdog_action": _ACTIONS,
    "hw_watchdog_action": _ACTIONS,
    "os:secure_boot": _SECURE,
    "os_secure_boot": _SECURE,
    "hw_rescue_bus": BUSES,
    "hw_rescue_device": RESCUE_DEVICES,
    **{f"{start}{name}": words for name, words in AGREED_CHOICES.items() for start in _BOTH},
}
TRUTHS: Final = (
    *("hw:boot_menu", "hw_boot_menu"),
    *("hw:vif_multiqueue_enabled", "hw_vif_multiqueue_enabled"),
    *("hw_rng:allowed", "hw_qemu_guest_agent", "os_require_quiesce"),
    *("hw:hide_hypervisor_id", "img_hide_hypervisor_id", "hw_ipxe_boot", "hw_time_hpet"),
    *(f"{start}{name}" for name in AGREED_TRUTHS for start in _BOTH),
)
_A_LIMIT: Final = (0, 2**60)
_A_RATE: Final = (1, 2**32 - 1)  # KiB
_A_COUNT: Final = (1, 65536)  # of CPUs
_LEVELS: Final = ("sockets", "cores", "threads")
# From what to what they may be.
NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "hw_rng:rate_bytes": (1, 2**31),
    "hw_rng:rate_period": (1, 2**31),
    "hw:serial_port_count": (1, MOST_SERIAL_PORTS),
    "hw_serial_port_count": (1, MOST_SERIAL_PORTS),
    "hw_video_ram": (1, 2**20),
    "os_shutdown_timeout": (0, 2**31),
    "hw_video:ram_max_mb": (0, 2**20),
    "quota:cpu_shares": (2, 262144),  # as the kernel has it
    "quota:cpu_period": (1000, 1000000),
    "quota:cpu_quota": (1000, 2**44),
    **{
        f"quota:disk_{way}_{unit}_sec": _A_LIMIT
        for way in ("total", "read", "write")
        for unit in ("bytes", "iops")
    },
    **{
        f"quota:vif_{way}_{rate}": _A_RATE
        for way in ("inbound", "outbound")
        for rate in ("average", "peak", "burst")
    },
    **{
        f"hw{mark}cpu_{most}{level}": _A_COUNT
        for mark in (":", "_")
        for most in ("", "max_")
        for level in _LEVELS
    },
    **{f"{start}{name}": limits for name, limits in AGREED_NUMBERS.items() for start in _BOTH},
}


def check_value(words: HardwareProperties, name: str) -> None:
    """Make sure that a host can read a word, if it is one of these.

    :raises roost.exception.Invalid: naming it, and what it may be
    """
    for names, read in ((CHOICES, chosen), (TRUTHS, flagged), (NUMBERS, counted)):
        if name in names:
            read(words, name)


def chosen(words: HardwareProperties, name: str) -> str | None:
    """Return one of :data:`CHOICES`; None: nobody says.

    :raises roost.exception.Invalid: when it is none of those that it may be
    """
    return choice(name, _said(words, name), CHOICES[name])


def flagged(words: HardwareProperties, name: str) -> bool | None:
    """Return one of :data:`TRUTHS`; None: nobody says.

    :raises roost.exception.Invalid: when it is neither yes nor no
    """
    text = _said(words, name)
    return None if text is None else truth(name, text)


def counted(words: HardwareProperties, name: str) -> int | None:
    """Return one of :data:`NUMBERS`; None: nobody says.

    :raises roost.exception.Invalid: when it is no number, or one that it may not be
    """
    least, most = NUMBERS[name]
    return number(name, _said(words, name), least=least, most=most)


def agreed(words: HardwareProperties, name: str) -> str | None:
    """Return one of :data:`AGREED_CHOICES`; None: nobody says.

    :raises roost.exception.Invalid: when it may not be, or flavor and image say different things
    """
    return _agreed(words, name, chosen)


def agreed_truth(words: HardwareProperties, name: str) -> bool | None:
    """Return one of :data:`AGREED_TRUTHS`, as :func:`agreed` does."""
    return _agreed(words, name, flagged)


def agreed_number(words: HardwareProperties, name: str) -> int | None:
    """Return one of :data:`AGREED_NUMBERS`, as :func:`agreed` does."""
    return _agreed(words, name, counted)


def _agreed(
    words: HardwareProperties, name: str, read: Callable[[HardwareProperties, str], _T | None]
) -> _T | None:
    flavor, image = (read(words, f"{start}{name}") for start in _BOTH)
    if flavor is not None and image is not None and flavor != image:
        raise exception.Invalid(
            f"Image property 'hw_{name}' is not permitted to override 'hw:{name}' set against the"
            f" flavor: '{image}' is not '{flavor}'"
        )
    return image if flavor is None else flavor


def _said(words: HardwareProperties, name: str) -> str | None:
    return words.spec(name) if ":" in name else words.image_property(name)


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
