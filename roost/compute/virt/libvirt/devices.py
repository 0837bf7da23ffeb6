"""Small devices of a guest, each what one question of flavor and image comes to."""

import dataclasses
import xml.etree.ElementTree as ET
from typing import Final

from roost.compute.virt.libvirt.elements import element

_ENTROPY: Final = "/dev/urandom"
_AGENT: Final = "org.qemu.guest_agent.0"
_KIB_PER_MIB: Final = 1024


@dataclasses.dataclass(frozen=True)
class RandomNumbers:
    """A source of them; a guest gets ``rate_bytes`` in ``rate_period`` ms, None: all it wants."""

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
    """Does ``action`` when a guest's system, having woken it once, does not call any more."""

    action: str

    def element(self) -> ET.Element:
        return element("watchdog", model="i6300esb", action=self.action)


@dataclasses.dataclass(frozen=True)
class Tpm:
    """A TPM that swtpm pretends; what it keeps goes with its guest."""

    model: str
    version: str

    def element(self) -> ET.Element:
        backend = element("backend", type="emulator", version=self.version)
        return element("tpm", backend, model=self.model)


@dataclasses.dataclass(frozen=True)
class Video:
    """A graphics card; ``memory_mb`` None: as much as QEMU gives it."""

    model: str
    memory_mb: int | None = None

    def element(self) -> ET.Element:
        card = element("model", type=self.model)
        if self.memory_mb is not None:
            card.set("vram", str(self.memory_mb * _KIB_PER_MIB))
        return element("video", card)


@dataclasses.dataclass(frozen=True)
class Sound:
    """A sound card, which who looks by SPICE hears."""

    model: str

    def element(self) -> ET.Element:
        return element("sound", model=self.model)


@dataclasses.dataclass(frozen=True)
class Usb:
    """What USB devices are plugged into; None: what the machine has by itself.

    Into ``redirected`` ports those are plugged that somebody has who looks by SPICE.
    """

    model: str | None = None
    redirected: int = 0

    def elements(self) -> list[ET.Element]:
        controller = element("controller", type="usb", index=0, model=self.model or "")
        port = element("redirdev", bus="usb", type="spicevmc")
        return [*([controller] if self.model else []), *[port] * self.redirected]


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Devices that people point and write with, each on ``bus``."""

    kinds: tuple[str, ...]
    bus: str

    def elements(self) -> list[ET.Element]:
        return [element("input", type=kind, bus=self.bus) for kind in self.kinds]


@dataclasses.dataclass(frozen=True)
class Balloon:
    """Tells how much memory a guest uses, every ``period`` seconds; 0: never."""

    period: int = 10

    def element(self) -> ET.Element:
        stats = element("stats", period=self.period) if self.period else None
        return element("memballoon", stats, model="virtio")


def agent_channel() -> ET.Element:
    """Return what a guest's own agent listens at."""
    return element("channel", element("target", type="virtio", name=_AGENT), type="unix")


def pcie_slots(count: int) -> list[ET.Element]:
    """Return slots of PCIe, of which what is plugged in later takes those that are left."""
    ports = [element("controller", type="pci", model="pcie-root-port") for _ in range(count)]
    root = element("controller", type="pci", index=0, model="pcie-root")
    return [root, *ports] if ports else []
