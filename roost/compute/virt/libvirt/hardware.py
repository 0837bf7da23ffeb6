"""What flavor and image ask of a guest's hardware: the one place where libvirt's driver reads them.

Sizes, NUMA cells and devices of the host are not here: of those the scheduler has said where they
are. Whose word counts where both speak, is written beside each in ``doc/libvirt.rst``.
"""

import dataclasses
from collections.abc import Collection
from typing import Final, Self

from roost import exception
from roost.compute.virt.libvirt.cpus import CpuTopology
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
from roost.compute.virt.libvirt.machine import GuestMachine
from roost.compute.virt.libvirt.screen import CARD
from roost.compute.virt.libvirt.tuning import Bandwidth, Tuning
from roost.hardware import rules
from roost.hardware.properties import HardwareProperties, choice, truth
from roost.hardware.values import (
    BUSES,
    NETWORK_BOOTS,
    VIRTIO,
    agreed,
    agreed_number,
    agreed_truth,
    chosen,
    counted,
    flagged,
)
from roost.objects import Instance

_FAST_USB: Final = "qemu-xhci"
MOST_SHUTDOWN_SECONDS: Final = 900  # that somebody may keep a host waiting
_QUEUES: Final = 256  # that a tap device of Linux can have


@dataclasses.dataclass(frozen=True)
class Hardware:
    """A guest's hardware beyond sizes; None: it has none of that.

    ``agent``: it is told that there is somebody to listen to inside of it, whose ``admin`` is the
    one with the password; ``quiesce``: no image is made of it while it cannot be made quiet.
    ``packed``: its virtio devices are asked by packed rings; ``network_boot``: its firmware looks
    for a system at its interfaces before its disk. ``shutdown_seconds``: so long its own
    system gets to end; None: as long as its host says.
    """

    firmware: Firmware
    shape: CpuTopology | None
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
    machine: GuestMachine
    sound: Sound | None
    usb: Usb
    serial_ports: int
    packed: bool
    network_boot: bool
    locked: bool
    shutdown_seconds: int | None

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
            rules.check_bus("disk_bus", found, self.firmware.machine)
        except exception.Invalid as error:
            raise exception.BuildFailed(error.message, reschedulable=False) from error
        return found

    @classmethod
    def _read(cls, instance: Instance, machine: str | None) -> Self:
        words = HardwareProperties(instance.flavor, instance.image)
        firmware = Firmware.of(words, machine=machine)
        disk_bus = rules.disk_bus(words, firmware.machine)
        cd_bus = rules.cd_bus(words, firmware.machine)
        return cls(
            firmware=firmware,
            shape=CpuTopology.of(words),
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
            agent=flagged(words, "hw_qemu_guest_agent") or False,
            quiesce=flagged(words, "os_require_quiesce") or False,
            admin=_admin(words),
            emulator_apart=words.flavor_word("emulator_threads_policy") is not None,
            machine=GuestMachine.of(words),
            sound=_sound(words),
            usb=_usb(words, {disk_bus, cd_bus}),
            serial_ports=rules.serial_ports(words),
            packed=agreed_truth(words, "virtio_packed_ring") or False,
            network_boot=any(flagged(words, name) for name in NETWORK_BOOTS),
            locked=agreed_truth(words, "locked_memory") or False,
            shutdown_seconds=_shutdown_seconds(words),
        )


def _vifs(words: HardwareProperties, vcpus: int) -> VifShape:
    """Return what all interfaces have in common; many queues are a matter of virtio alone."""
    name = "vif_multiqueue_enabled"
    many = truth(f"hw:{name}", words.flavor_word(name)) or truth(
        f"hw_{name}", words.image_word(name)
    )
    model = chosen(words, "hw_vif_model") or VIRTIO
    queues = min(vcpus, _QUEUES) if many and model == VIRTIO else 1
    packed = model == VIRTIO and bool(agreed_truth(words, "virtio_packed_ring"))
    return VifShape(model=model, queues=queues, bandwidth=Bandwidth.of(words), packed=packed)


def _rng(words: HardwareProperties) -> RandomNumbers | None:
    """Return it unless the flavor forbids it."""
    chosen(words, "hw_rng_model")
    allowed = words.spec("hw_rng:allowed")
    if allowed is not None and not truth("hw_rng:allowed", allowed):
        return None
    return RandomNumbers(
        rate_bytes=counted(words, "hw_rng:rate_bytes"),
        rate_period=counted(words, "hw_rng:rate_period"),
    )


def _watchdog(words: HardwareProperties) -> Watchdog | None:
    """Return it; the image knows better than the flavor whether its system wakes it."""
    flavor = chosen(words, "hw:watchdog_action")
    action = chosen(words, "hw_watchdog_action") or flavor
    return None if action in (None, "disabled") else Watchdog(action)


def _tpm(words: HardwareProperties) -> Tpm | None:
    found = rules.tpm(words)
    return None if found is None else Tpm(*found)


def _shutdown_seconds(words: HardwareProperties) -> int | None:
    seconds = counted(words, "os_shutdown_timeout")
    return None if seconds is None else min(seconds, MOST_SHUTDOWN_SECONDS)


def _video(words: HardwareProperties) -> Video | None:
    model, memory_mb = chosen(words, "hw_video_model"), rules.video_ram(words)
    if model is None and memory_mb is None:
        return None
    return Video(model or CARD.model, memory_mb)


def _inputs(words: HardwareProperties) -> Inputs | None:
    """Return what there is beside the keyboard and mouse that every PC has."""
    bus = rules.input_bus(words)
    kinds = ("tablet", "keyboard") if agreed(words, "input_bus") else ("tablet",)
    return None if bus is None else Inputs(kinds, bus)


def _sound(words: HardwareProperties) -> Sound | None:
    model = agreed(words, "sound_model")
    return None if model is None else Sound(model)


def _usb(words: HardwareProperties, buses: Collection[str]) -> Usb:
    """Return what USB there is; for what is plugged in from afar there must be some."""
    model = rules.usb_model(words, buses)
    ports = agreed_number(words, "redirected_usb_ports") or 0
    return Usb(model or (_FAST_USB if ports else None), ports)


def _admin(words: HardwareProperties) -> str:
    """Return whose password is the administrator's."""
    system = (words.image_property("os_type") or "").lower()
    default = "Administrator" if system == "windows" else "root"
    return words.image_property("os_admin_user") or default
