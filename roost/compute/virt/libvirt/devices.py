"""Small devices of a guest, by what flavor and image request."""

import dataclasses
import xml.etree.ElementTree as ET
from typing import Final

from roost.compute.virt.libvirt.elements import element

_ENTROPY: Final = "/dev/urandom"
_AGENT: Final = "org.qemu.guest_agent.0"
_KIB_PER_MIB: Final = 1024


@dataclasses.dataclass(frozen=True)
class RandomNumbers:
    """A random number generator of ``rate_bytes`` per ``rate_period`` ms; None: no limit."""

    rate_bytes: int | None = None
    rate_period: int | None = None

    def element(self) -> ET.Element:
        rate = None
        if self.rate_bytes is not None:
            rate = element("rate", bytes=self.rate_bytes)
            if self.rate_period is not None:
                rate.set("period", str(self.rate_period))
        return element(
            "rng", rate, element("backend", text=_ENTROPY, model="random"), model="virtio"
        )


@dataclasses.dataclass(frozen=True)
class Watchdog:
    """A watchdog that performs ``action`` when the guest started it and stops feeding it."""

    action: str

    def element(self) -> ET.Element:
        return element("watchdog", model="i6300esb", action=self.action)


@dataclasses.dataclass(frozen=True)
class Tpm:
    """A TPM emulated by swtpm; its state is removed with its guest."""

    model: str
    version: str

    def element(self) -> ET.Element:
        backend = element("backend", type="emulator", version=self.version)
        return element("tpm", backend, model=self.model)


@dataclasses.dataclass(frozen=True)
class Video:
    """A graphics card; ``memory_mb`` None: QEMU's default."""

    model: str
    memory_mb: int | None = None

    def element(self) -> ET.Element:
        card = element("model", type=self.model)
        if self.memory_mb is not None:
            card.set("vram", str(self.memory_mb * _KIB_PER_MIB))
        return element("video", card)


@dataclasses.dataclass(frozen=True)
class Sound:
    """A sound card, whose output SPICE clients receive."""

    model: str

    def element(self) -> ET.Element:
        return element("sound", model=self.model)


@dataclasses.dataclass(frozen=True)
class Usb:
    """A USB controller; None: the machine's default.

    SPICE clients can plug their USB devices into ``redirected`` ports.
    """

    model: str | None = None
    redirected: int = 0

    def elements(self) -> list[ET.Element]:
        controller = element("controller", type="usb", index=0, model=self.model or "")
        port = element("redirdev", bus="usb", type="spicevmc")
        return [*([controller] if self.model else []), *[port] * self.redirected]


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Pointer and keyboard devices, each on ``bus``."""

    kinds: tuple[str, ...]
    bus: str

    def elements(self) -> list[ET.Element]:
        return [element("input", type=kind, bus=self.bus) for kind in self.kinds]


@dataclasses.dataclass(frozen=True)
class Balloon:
    """A balloon that reports the guest's memory usage every ``period`` seconds; 0: never."""

    period: int = 10

    def element(self) -> ET.Element:
        stats = element("stats", period=self.period) if self.period else None
        return element("memballoon", stats, model="virtio")


def agent_channel() -> ET.Element:
    """Return the channel of the QEMU guest agent."""
    return element("channel", element("target", type="virtio", name=_AGENT), type="unix")


def pcie_slots(count: int) -> list[ET.Element]:
    """Return PCIe root ports; those left over are for hot-plugged devices."""
    ports = [element("controller", type="pci", model="pcie-root-port") for _ in range(count)]
    root = element("controller", type="pci", index=0, model="pcie-root")
    return [root, *ports] if ports else []
