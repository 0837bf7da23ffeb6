"""Which values the words of flavors and images may have, as far as no host is needed to tell.

Names with a colon are extra specs of flavors, all others properties of images. They are for the
API, which refuses what no host could make anything of, and for the hosts, which read the words.
"""

from collections.abc import Mapping
from typing import Final

from roost.objects.flavor import Flavor
from roost.objects.hardware_words import HardwareWords, choice, number, truth
from roost.objects.image_meta import ImageMeta

IDE: Final = "ide"
SCSI: Final = "scsi"
VIRTIO: Final = "virtio"
BUSES: Final = (IDE, "sata", SCSI, "usb", VIRTIO)
VIDEO_MODELS: Final = ("bochs", "cirrus", "none", "qxl", "vga", "virtio", "vmvga")
VIF_MODELS: Final = (
    *("e1000", "e1000e", "ne2k_pci", "pcnet", "rtl8139"),
    *("virtio", "vmxnet3"),
)
_SECURE: Final = ("required", "optional", "disabled")
_ACTIONS: Final = ("disabled", "none", "pause", "poweroff", "reset")
_INPUTS: Final = ("usb", VIRTIO)
_POINTERS: Final = ("ps2mouse", "usbtablet")
_TPM_MODELS: Final = ("tpm-crb", "tpm-tis")
_TPM_VERSIONS: Final = ("1.2", "2.0")
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
    "hw:input_bus": _INPUTS,
    "hw_input_bus": _INPUTS,
    "hw:pointer_model": _POINTERS,
    "hw_pointer_model": _POINTERS,
    "hw:tpm_model": _TPM_MODELS,
    "hw_tpm_model": _TPM_MODELS,
    "hw:tpm_version": _TPM_VERSIONS,
    "hw_tpm_version": _TPM_VERSIONS,
    "os:secure_boot": _SECURE,
    "os_secure_boot": _SECURE,
}
TRUTHS: Final = (
    *("hw:boot_menu", "hw_boot_menu"),
    *("hw:vif_multiqueue_enabled", "hw_vif_multiqueue_enabled"),
    *("hw_rng:allowed", "hw_qemu_guest_agent", "os_require_quiesce"),
)
_A_LIMIT: Final = (0, 2**60)
_A_RATE: Final = (1, 2**32 - 1)  # KiB
_A_COUNT: Final = (1, 65536)  # of CPUs
_LEVELS: Final = ("sockets", "cores", "threads")
# From what to what they may be.
NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "hw_rng:rate_bytes": (1, 2**31),
    "hw_rng:rate_period": (1, 2**31),
    "hw_video_ram": (1, 2**20),
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
}


def check(flavor: Flavor, image: ImageMeta | None) -> None:
    """Make sure that a host can read all that flavor and image say of a guest's hardware.

    :raises roost.exception.Invalid: naming what is said, and what it may be
    """
    words = HardwareWords(flavor, image)
    for name in CHOICES:
        chosen(words, name)
    for name in TRUTHS:
        truth(name, _said(words, name))
    for name in NUMBERS:
        counted(words, name)


def chosen(words: HardwareWords, name: str) -> str | None:
    """Return one of :data:`CHOICES`; None: nobody says.

    :raises roost.exception.Invalid: when it is none of those that it may be
    """
    return choice(name, _said(words, name), CHOICES[name])


def agreed(words: HardwareWords, name: str) -> str | None:
    """Return what flavor (``hw:name``) and image (``hw_name``) choose, who must say the same.

    :raises roost.exception.Invalid: when they do not, or it is none of those that it may be
    """
    for one in (f"hw:{name}", f"hw_{name}"):
        chosen(words, one)
    return words.word(name)


def counted(words: HardwareWords, name: str) -> int | None:
    """Return one of :data:`NUMBERS`; None: nobody says.

    :raises roost.exception.Invalid: when it is no number, or one that it may not be
    """
    least, most = NUMBERS[name]
    return number(name, _said(words, name), least=least, most=most)


def _said(words: HardwareWords, name: str) -> str | None:
    return words.spec(name) if ":" in name else words.image_property(name)
