"""What flavor and image ask of a guest's hardware: the one place where libvirt's driver reads them.

Sizes, NUMA cells and devices of the host are not here: of those the scheduler has said where they
are. Whose word counts where both speak, is written beside each in ``doc/libvirt.rst``.
"""

import dataclasses
from collections.abc import Collection
from typing import Final, Self

from roost import exception
from roost.compute.virt.libvirt.cpus import Shape
from roost.compute.virt.libvirt.devices import (
    Inputs,
    RandomNumbers,
    Sound,
    Tpm,
    Usb,
    Video,
    Watchdog,
)
from roost.compute.virt.libvirt.firmware import Firmware
from roost.compute.virt.libvirt.interfaces import VifShape
from roost.compute.virt.libvirt.machine import Machine
from roost.compute.virt.libvirt.tuning import Bandwidth, Tuning
from roost.objects import Instance
from roost.objects.hardware_values import (
    BUSES,
    IDE,
    NO_USB,
    SCSI,
    VIRTIO,
    agreed,
    agreed_number,
    agreed_truth,
    chosen,
    counted,
    flagged,
    serial_ports,
)
from roost.objects.hardware_words import HardwareWords, choice, truth

_FAST_USB: Final = "qemu-xhci"
_QUEUES: Final = 256  # that a tap device of Linux can have


@dataclasses.dataclass(frozen=True)
class Hardware:
    """A guest's hardware beyond sizes; None: it has none of that.

    ``agent``: it is told that there is somebody to listen to inside of it, whose ``admin`` is the
    one with the password; ``quiesce``: no image is made of it while it cannot be made quiet.
    ``packed``: its virtio devices are asked by packed rings; ``network_boot``: its firmware looks
    for a system at its interfaces before its disk.
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
    machine: Machine
    sound: Sound | None
    usb: Usb
    serial_ports: int
    packed: bool
    network_boot: bool
    locked: bool

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
            scsi_model=chosen(words, "hw_scsi_model") or "virtio-scsi",
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
            machine=Machine.of(words),
            sound=_sound(words),
            usb=_usb(words, {disk_bus, cd_bus}),
            serial_ports=serial_ports(words),
            packed=agreed_truth(words, "virtio_packed_ring") or False,
            network_boot=flagged(words, "hw_ipxe_boot") or False,
            locked=agreed_truth(words, "locked_memory") or False,
        )


def _flag_of_image(words: HardwareWords, name: str) -> bool:
    return truth(name, words.image_property(name))


def _bus(words: HardwareWords, of: str, firmware: Firmware) -> str:
    name = f"hw_{of}_bus"
    found = chosen(words, name) or (SCSI if of == "cdrom" else VIRTIO)
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
    model = chosen(words, "hw_vif_model") or VIRTIO
    queues = min(vcpus, _QUEUES) if many and model == VIRTIO else 1
    packed = model == VIRTIO and bool(agreed_truth(words, "virtio_packed_ring"))
    return VifShape(model=model, queues=queues, bandwidth=Bandwidth.of(words), packed=packed)


def _rng(words: HardwareWords) -> RandomNumbers | None:
    """Return it unless the flavor forbids it."""
    chosen(words, "hw_rng_model")
    allowed = words.spec("hw_rng:allowed")
    if allowed is not None and not truth("hw_rng:allowed", allowed):
        return None
    return RandomNumbers(
        rate_bytes=counted(words, "hw_rng:rate_bytes"),
        rate_period=counted(words, "hw_rng:rate_period"),
    )


def _watchdog(words: HardwareWords) -> Watchdog | None:
    """Return it; the image knows better than the flavor whether its system wakes it."""
    flavor = chosen(words, "hw:watchdog_action")
    action = chosen(words, "hw_watchdog_action") or flavor
    return None if action in (None, "disabled") else Watchdog(action)


def _tpm(words: HardwareWords) -> Tpm | None:
    model = agreed(words, "tpm_model")
    version = agreed(words, "tpm_version")
    if version is None:
        if model is not None:
            raise exception.Invalid("hw:tpm_model needs hw:tpm_version: 1.2 or 2.0.")
        return None
    if (model, version) == ("tpm-crb", "1.2"):
        raise exception.Invalid("hw:tpm_model is 'tpm-crb', which needs hw:tpm_version=2.0.")
    return Tpm(model or "tpm-tis", version)


def _video(words: HardwareWords) -> Video | None:
    model = chosen(words, "hw_video_model")
    memory_mb = counted(words, "hw_video_ram")
    most = counted(words, "hw_video:ram_max_mb") or 0
    if memory_mb is not None and memory_mb > most:
        raise exception.Invalid(
            f"hw_video_ram is '{memory_mb}', but the flavor allows {most} MB (hw_video:ram_max_mb)."
        )
    return None if model is None else Video(model, memory_mb)


def _inputs(words: HardwareWords) -> Inputs | None:
    """Return what there is beside the keyboard and mouse that every PC has."""
    bus = agreed(words, "input_bus")
    pointer = agreed(words, "pointer_model")
    if bus is not None:
        return Inputs(("tablet", "keyboard"), bus)
    return Inputs(("tablet",), "usb") if pointer == "usbtablet" else None


def _sound(words: HardwareWords) -> Sound | None:
    model = agreed(words, "sound_model")
    return None if model is None else Sound(model)


def _usb(words: HardwareWords, buses: Collection[str]) -> Usb:
    """Return what USB there is; for what is plugged in from afar there must be some."""
    model = agreed(words, "usb_model")
    ports = agreed_number(words, "redirected_usb_ports") or 0
    inputs = _inputs(words)
    used = {*buses, inputs.bus if inputs else None, agreed(words, "sound_model")}
    if model == NO_USB and "usb" in used:
        raise exception.Invalid("hw:usb_model is 'none', but the guest has devices on USB.")
    return Usb(model or (_FAST_USB if ports else None), ports)


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
