"""The allowed values of extra specs and image properties, as far as they do not depend on a host.

Names with a colon (and :data:`SCOPELESS`) are extra specs of flavors, all others properties of
images. The API refuses values that no host could use; hosts read the values. ``names.py`` has the
outcome of names that are not here.
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
# The last of several names for the same property is the legacy one.
HIDING: Final = ("hw:hide_hypervisor_id", "img_hide_hypervisor_id", "hide_hypervisor_id")
NETWORK_BOOTS: Final = ("hw_ipxe_boot", "ipxe_boot")
SCOPELESS: Final = ("group_policy", "hide_hypervisor_id", "same_subtree")  # extra specs
_T = TypeVar("_T")
_SECURE: Final = ("required", "optional", "disabled")
_ACTIONS: Final = ("disabled", "none", "pause", "poweroff", "reset")
# Flavor (``hw:``) and image (``hw_``) may both set these, to the same value.
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
    **{f"{start}{name}": allowed for name, allowed in AGREED_CHOICES.items() for start in _BOTH},
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
# The minimum and maximum of each.
NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "hw_rng:rate_bytes": (1, 2**31),
    "hw_rng:rate_period": (1, 2**31),
    "hw:serial_port_count": (0, MOST_SERIAL_PORTS),
    "hw_serial_port_count": (0, MOST_SERIAL_PORTS),
    "hw_video_ram": (1, 2**20),
    "os_shutdown_timeout": (0, 2**31),
    "hw_video:ram_max_mb": (0, 2**20),
    "quota:cpu_shares": (2, 262144),  # the kernel's limits
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


def check_value(properties: HardwareProperties, name: str) -> None:
    """Make sure that a host can read the value of a property, if it is one of these.

    :raises roost.exception.Invalid: naming it and its allowed values
    """
    for names, read in ((CHOICES, chosen), (TRUTHS, flagged), (NUMBERS, counted)):
        if name in names:
            read(properties, name)


def chosen(properties: HardwareProperties, name: str) -> str | None:
    """Return the value of one of :data:`CHOICES`; None: not set.

    :raises roost.exception.Invalid: when it is not one of the allowed values
    """
    return choice(name, _said(properties, name), CHOICES[name])


def flagged(properties: HardwareProperties, name: str) -> bool | None:
    """Return the value of one of :data:`TRUTHS`; None: not set.

    :raises roost.exception.Invalid: when it is not a boolean
    """
    text = _said(properties, name)
    return None if text is None else truth(name, text)


def counted(properties: HardwareProperties, name: str) -> int | None:
    """Return the value of one of :data:`NUMBERS`; None: not set, or set to mean no value.

    :raises roost.exception.Invalid: when it is not a number, or out of range
    """
    least, most = NUMBERS[name]
    text = _said(properties, name)
    if least > 0 and (text == "0" or (text == "-1" and name.startswith("quota:"))):
        return None
    return number(name, text, least=least, most=most)


def agreed(properties: HardwareProperties, name: str) -> str | None:
    """Return the value of one of :data:`AGREED_CHOICES`; None: not set.

    :raises roost.exception.Invalid: when it is not allowed, or differs between flavor and image
    """
    return _agreed(properties, name, chosen)


def agreed_truth(properties: HardwareProperties, name: str) -> bool | None:
    """Return the value of one of :data:`AGREED_TRUTHS`, as :func:`agreed` does."""
    return _agreed(properties, name, flagged)


def agreed_number(properties: HardwareProperties, name: str) -> int | None:
    """Return the value of one of :data:`AGREED_NUMBERS`, as :func:`agreed` does."""
    return _agreed(properties, name, counted)


def _agreed(
    properties: HardwareProperties, name: str, read: Callable[[HardwareProperties, str], _T | None]
) -> _T | None:
    flavor, image = (read(properties, f"{start}{name}") for start in _BOTH)
    if flavor is not None and image is not None and flavor != image:
        raise exception.Invalid(
            f"Image property 'hw_{name}' is not permitted to override 'hw:{name}' set against the"
            f" flavor: '{image}' is not '{flavor}'"
        )
    return image if flavor is None else flavor


def _said(properties: HardwareProperties, name: str) -> str | None:
    of_flavor = ":" in name or name in SCOPELESS
    return properties.spec(name) if of_flavor else properties.image_property(name)
