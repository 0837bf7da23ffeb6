"""What flavor and image ask of a guest's hardware: the one place where libvirt's driver reads them.

Sizes, NUMA cells and devices of the host are not here: of those the scheduler has said where they
are. Whose word counts where both speak, is written beside each in ``doc/libvirt.rst``.
"""

import dataclasses
from typing import Final, Self

from roost import exception
from roost.compute.virt.libvirt.cpus import Shape
from roost.compute.virt.libvirt.devices import Inputs, RandomNumbers, Tpm, Video, Watchdog
from roost.compute.virt.libvirt.disks import BUSES, IDE, SCSI, VIRTIO
from roost.compute.virt.libvirt.firmware import Firmware
from roost.compute.virt.libvirt.interfaces import VIF_MODELS, VifShape
from roost.compute.virt.libvirt.tuning import Bandwidth, Tuning
from roost.objects import Instance
from roost.objects.hardware_words import HardwareWords, choice, number, truth

_CD_BUSES: Final = tuple(bus for bus in BUSES if bus != VIRTIO)
_SCSI_MODELS: Final = ("lsilogic", "lsisas1068", "lsisas1078", "virtio-scsi", "vmpvscsi")
VIDEO_MODELS: Final = ("bochs", "cirrus", "none", "qxl", "vga", "virtio", "vmvga")
_ACTIONS: Final = ("disabled", "none", "pause", "poweroff", "reset")
_TPM_MODELS: Final = ("tpm-crb", "tpm-tis")
_TPM_VERSIONS: Final = ("1.2", "2.0")
_QUEUES: Final = 256  # that a tap device of Linux can have


@dataclasses.dataclass(frozen=True)
class Hardware:
    """A guest's hardware beyond sizes; None: it has none of that.

    ``agent``: it is told that there is somebody to listen to inside of it, whose ``admin`` is the
    one with the password; ``quiesce``: no image is made of it while it cannot be made quiet.
    """

    firmware: Firmware
    shape: Shape | None
    disk_bus: str
    cd_bus: str
    scsi_model: str
    vifs: VifShape
    tuning: Tuning
    rng: RandomNumbers | None
    watchdog: Watchdog | None
    tpm: Tpm | None
    video: Video | None
    inputs: Inputs | None
    agent: bool
    quiesce: bool
    admin: str
    emulator_apart: bool

    @classmethod
    def of(cls, instance: Instance, *, machine: str | None = None) -> Self:
        """Read what an instance's flavor and image ask for.

        :param machine: of guests whose image names none
        :raises roost.exception.BuildFailed: when no host can do that, and what it could do
        """
        try:
            return cls._read(instance, machine)
        except exception.Invalid as error:
            raise exception.BuildFailed(error.message, reschedulable=False) from error

    def bus(self, asked: str | None) -> str:
        """Return what a disk is on: as its user would like it, or as all of them are.

        :raises roost.exception.BuildFailed: when there is no such bus
        """
        try:
            found = choice("disk_bus", asked, BUSES) or self.disk_bus
            _check_bus("disk_bus", found, self.firmware)
        except exception.Invalid as error:
            raise exception.BuildFailed(error.message, reschedulable=False) from error
        return found

    @classmethod
    def _read(cls, instance: Instance, machine: str | None) -> Self:
        words = HardwareWords(instance.flavor, instance.image)
        firmware = Firmware.of(words, machine=machine)
        disk_bus, cd_bus = _bus(words, "disk", firmware), _bus(words, "cdrom", firmware)
        return cls(
            firmware=firmware,
            shape=Shape.of(words, instance.flavor.vcpus),
            disk_bus=disk_bus,
            cd_bus=cd_bus,
            scsi_model=_of_image(words, "hw_scsi_model", _SCSI_MODELS) or "virtio-scsi",
            vifs=_vifs(words, instance.flavor.vcpus),
            tuning=Tuning.of(words),
            rng=_rng(words),
            watchdog=_watchdog(words),
            tpm=_tpm(words),
            video=_video(words),
            inputs=_inputs(words),
            agent=_flag_of_image(words, "hw_qemu_guest_agent"),
            quiesce=_quiesce(words),
            admin=_admin(words),
            emulator_apart=words.flavor_word("emulator_threads_policy") == "share",
        )


def _of_image(words: HardwareWords, name: str, allowed: tuple[str, ...]) -> str | None:
    return choice(name, words.image_property(name), allowed)


def _flag_of_image(words: HardwareWords, name: str) -> bool:
    return truth(name, words.image_property(name))


def _bus(words: HardwareWords, of: str, firmware: Firmware) -> str:
    name, allowed, default = f"hw_{of}_bus", BUSES, VIRTIO
    if of == "cdrom":
        allowed, default = _CD_BUSES, SCSI
    found = _of_image(words, name, allowed) or default
    _check_bus(name, found, firmware)
    return found


def _check_bus(name: str, bus: str, firmware: Firmware) -> None:
    if bus == IDE and firmware.is_q35:
        raise exception.Invalid(f"{name} is 'ide', which the machine {firmware.machine} has not.")


def _vifs(words: HardwareWords, vcpus: int) -> VifShape:
    """Return what all interfaces have in common; many queues are a matter of virtio alone."""
    name = "vif_multiqueue_enabled"
    many = truth(f"hw:{name}", words.flavor_word(name)) or truth(
        f"hw_{name}", words.image_word(name)
    )
    model = _of_image(words, "hw_vif_model", VIF_MODELS) or VIRTIO
    queues = min(vcpus, _QUEUES) if many and model == VIRTIO else 1
    return VifShape(model=model, queues=queues, bandwidth=Bandwidth.of(words))


def _rng(words: HardwareWords) -> RandomNumbers | None:
    """Return it unless the flavor forbids it."""
    _of_image(words, "hw_rng_model", (VIRTIO,))
    allowed = words.spec("hw_rng:allowed")
    if allowed is not None and not truth("hw_rng:allowed", allowed):
        return None
    rate, period = (f"hw_rng:{name}" for name in ("rate_bytes", "rate_period"))
    return RandomNumbers(
        rate_bytes=number(rate, words.spec(rate), least=1, most=2**31),
        rate_period=number(period, words.spec(period), least=1, most=2**31),
    )


def _watchdog(words: HardwareWords) -> Watchdog | None:
    """Return it; the image knows better than the flavor whether its system wakes it."""
    flavor = choice("hw:watchdog_action", words.flavor_word("watchdog_action"), _ACTIONS)
    action = _of_image(words, "hw_watchdog_action", _ACTIONS) or flavor
    return None if action in (None, "disabled") else Watchdog(action)


def _tpm(words: HardwareWords) -> Tpm | None:
    model = choice("hw:tpm_model", words.word("tpm_model"), _TPM_MODELS)
    version = choice("hw:tpm_version", words.word("tpm_version"), _TPM_VERSIONS)
    if version is None:
        if model is not None:
            raise exception.Invalid("hw:tpm_model needs hw:tpm_version: 1.2 or 2.0.")
        return None
    if (model, version) == ("tpm-crb", "1.2"):
        raise exception.Invalid("hw:tpm_model is 'tpm-crb', which needs hw:tpm_version=2.0.")
    return Tpm(model or "tpm-tis", version)


def _video(words: HardwareWords) -> Video | None:
    model = _of_image(words, "hw_video_model", VIDEO_MODELS)
    memory_mb = number("hw_video_ram", words.image_property("hw_video_ram"), least=1, most=2**20)
    limit = words.spec("hw_video:ram_max_mb")
    most = number("hw_video:ram_max_mb", limit, most=2**20) or 0
    if memory_mb is not None and memory_mb > most:
        raise exception.Invalid(
            f"hw_video_ram is '{memory_mb}', but the flavor allows {most} MB (hw_video:ram_max_mb)."
        )
    return None if model is None else Video(model, memory_mb)


def _inputs(words: HardwareWords) -> Inputs | None:
    """Return what there is beside the keyboard and mouse that every PC has."""
    bus = choice("hw_input_bus", words.word("input_bus"), ("usb", VIRTIO))
    pointer = choice("hw_pointer_model", words.word("pointer_model"), ("ps2mouse", "usbtablet"))
    if bus is not None:
        return Inputs(("tablet", "keyboard"), bus)
    return Inputs(("tablet",), "usb") if pointer == "usbtablet" else None


def _quiesce(words: HardwareWords) -> bool:
    asked = _flag_of_image(words, "os_require_quiesce")
    if asked and not _flag_of_image(words, "hw_qemu_guest_agent"):
        raise exception.Invalid("os_require_quiesce needs hw_qemu_guest_agent=yes.")
    return asked


def _admin(words: HardwareWords) -> str:
    """Return whose password is the administrator's."""
    system = (words.image_property("os_type") or "").lower()
    default = "Administrator" if system == "windows" else "root"
    return words.image_property("os_admin_user") or default
