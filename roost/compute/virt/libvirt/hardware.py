"""A guest's hardware as flavor and image request it: all extra specs and properties read here.

Sizes, NUMA cells and host devices are left to the scheduler. ``doc/libvirt.rst`` says for each
property whether flavor or image takes precedence.
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
MOST_SHUTDOWN_SECONDS: Final = 900  # limit of the image's shutdown timeout
_QUEUES: Final = 256  # limit of a Linux tap device


@dataclasses.dataclass(frozen=True)
class Hardware:
    """A guest's hardware beyond sizes; None: it does not have that device.

    ``agent``: it has a channel for the guest agent, which sets the password of ``admin``;
    ``quiesce``: snapshots require frozen file systems. ``packed``: its virtio devices use packed
    rings; ``network_boot``: its firmware tries the network before the disk. ``shutdown_seconds``:
    shutdown timeout; None: the host's default.
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
        """Read what an instance's flavor and image request.

        :param machine: the default machine type
        :raises roost.exception.BuildFailed: when no host supports it; the message names the valid
            values
        """
        try:
            return cls._read(instance, machine)
        except exception.Invalid as error:
            raise exception.BuildFailed(error.message, reschedulable=False) from error

    def bus(self, requested: str | None) -> str:
        """Return the bus of a disk: the requested one, or the guest's default.

        :raises roost.exception.BuildFailed: when the machine has no such bus
        """
        try:
            found = choice("disk_bus", requested, BUSES) or self.disk_bus
            rules.check_bus("disk_bus", found, self.firmware.machine)
        except exception.Invalid as error:
            raise exception.BuildFailed(error.message, reschedulable=False) from error
        return found

    @classmethod
    def _read(cls, instance: Instance, machine: str | None) -> Self:
        properties = HardwareProperties(instance.flavor, instance.image)
        firmware = Firmware.of(properties, machine=machine)
        disk_bus = rules.disk_bus(properties, firmware.machine)
        cd_bus = rules.cd_bus(properties, firmware.machine)
        return cls(
            firmware=firmware,
            shape=CpuTopology.of(properties),
            disk_bus=disk_bus,
            cd_bus=cd_bus,
            scsi_model=chosen(properties, "hw_scsi_model") or "virtio-scsi",
            vifs=_vifs(properties, instance.flavor.vcpus),
            tuning=Tuning.of(properties),
            rng=_rng(properties),
            watchdog=_watchdog(properties),
            tpm=_tpm(properties),
            video=_video(properties),
            inputs=_inputs(properties),
            agent=flagged(properties, "hw_qemu_guest_agent") or False,
            quiesce=flagged(properties, "os_require_quiesce") or False,
            admin=_admin(properties),
            emulator_apart=properties.flavor_value("emulator_threads_policy") is not None,
            machine=GuestMachine.of(properties),
            sound=_sound(properties),
            usb=_usb(properties, {disk_bus, cd_bus}),
            serial_ports=rules.serial_ports(properties),
            packed=agreed_truth(properties, "virtio_packed_ring") or False,
            network_boot=any(flagged(properties, name) for name in NETWORK_BOOTS),
            locked=agreed_truth(properties, "locked_memory") or False,
            shutdown_seconds=_shutdown_seconds(properties),
        )


def _vifs(properties: HardwareProperties, vcpus: int) -> VifShape:
    """Return the properties of all interfaces; only virtio supports several queues."""
    name = "vif_multiqueue_enabled"
    many = truth(f"hw:{name}", properties.flavor_value(name)) or truth(
        f"hw_{name}", properties.image_value(name)
    )
    model = chosen(properties, "hw_vif_model") or VIRTIO
    queues = min(vcpus, _QUEUES) if many and model == VIRTIO else 1
    packed = model == VIRTIO and bool(agreed_truth(properties, "virtio_packed_ring"))
    return VifShape(model=model, queues=queues, bandwidth=Bandwidth.of(properties), packed=packed)


def _rng(properties: HardwareProperties) -> RandomNumbers | None:
    """Return the random number generator unless the flavor forbids it."""
    chosen(properties, "hw_rng_model")
    allowed = properties.spec("hw_rng:allowed")
    if allowed is not None and not truth("hw_rng:allowed", allowed):
        return None
    return RandomNumbers(
        rate_bytes=counted(properties, "hw_rng:rate_bytes"),
        rate_period=counted(properties, "hw_rng:rate_period"),
    )


def _watchdog(properties: HardwareProperties) -> Watchdog | None:
    """Return the watchdog; the image takes precedence over the flavor."""
    flavor = chosen(properties, "hw:watchdog_action")
    action = chosen(properties, "hw_watchdog_action") or flavor
    return None if action in (None, "disabled") else Watchdog(action)


def _tpm(properties: HardwareProperties) -> Tpm | None:
    found = rules.tpm(properties)
    return None if found is None else Tpm(*found)


def _shutdown_seconds(properties: HardwareProperties) -> int | None:
    seconds = counted(properties, "os_shutdown_timeout")
    return None if seconds is None else min(seconds, MOST_SHUTDOWN_SECONDS)


def _video(properties: HardwareProperties) -> Video | None:
    model, memory_mb = chosen(properties, "hw_video_model"), rules.video_ram(properties)
    if model is None and memory_mb is None:
        return None
    return Video(model or CARD.model, memory_mb)


def _inputs(properties: HardwareProperties) -> Inputs | None:
    """Return input devices other than every PC's PS/2 keyboard and mouse."""
    bus = rules.input_bus(properties)
    kinds = ("tablet", "keyboard") if agreed(properties, "input_bus") else ("tablet",)
    return None if bus is None else Inputs(kinds, bus)


def _sound(properties: HardwareProperties) -> Sound | None:
    model = agreed(properties, "sound_model")
    return None if model is None else Sound(model)


def _usb(properties: HardwareProperties, buses: Collection[str]) -> Usb:
    """Return the USB controller; redirected ports need one."""
    model = rules.usb_model(properties, buses)
    ports = agreed_number(properties, "redirected_usb_ports") or 0
    return Usb(model or (_FAST_USB if ports else None), ports)


def _admin(properties: HardwareProperties) -> str:
    """Return the name of the administrator."""
    system = (properties.image_property("os_type") or "").lower()
    default = "Administrator" if system == "windows" else "root"
    return properties.image_property("os_admin_user") or default
