"""Which values extra specs and image properties may have, as far as no host is needed to tell.

Names with a colon (and :data:`SCOPELESS`) are extra specs of flavors, all others properties of
images. They are for the API, which refuses what no host could make anything of, and for the hosts,
which read the values. What becomes of names that are not here, ``names.py`` says.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from roost import exception
from roost.hardware.properties import HardwareProperties, choice, number, truth

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
# Of several names for the same the last one is of old.
HIDING: Final = ("hw:hide_hypervisor_id", "img_hide_hypervisor_id", "hide_hypervisor_id")
NETWORK_BOOTS: Final = ("hw_ipxe_boot", "ipxe_boot")
SCOPELESS: Final = ("group_policy", "hide_hypervisor_id")  # extra specs
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
    *("hw_rng:allowed", "hw_qemu_guest_agent", "os_require_quiesce", "hw_time_hpet"),
    *HIDING,
    *NETWORK_BOOTS,
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
    "hw:serial_port_count": (0, MOST_SERIAL_PORTS),
    "hw_serial_port_count": (0, MOST_SERIAL_PORTS),
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
    """Return one of :data:`NUMBERS`; None: nobody says, or no number of it is asked for.

    :raises roost.exception.Invalid: when it is no number, or one that it may not be
    """
    least, most = NUMBERS[name]
    text = _said(words, name)
    if least > 0 and (text == "0" or (text == "-1" and name.startswith("quota:"))):
        return None
    return number(name, text, least=least, most=most)


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
    of_flavor = ":" in name or name in SCOPELESS
    return words.spec(name) if of_flavor else words.image_property(name)
