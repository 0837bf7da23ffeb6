"""The interfaces of a guest: what its ports are plugged into on this host."""

import dataclasses
import json
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Final, Self

from roost import exception
from roost.compute.taps import tap_of
from roost.compute.virt.libvirt.elements import element
from roost.compute.virt.libvirt.tuning import Bandwidth
from roost.objects import Vif

BRIDGE: Final = "bridge"
VIF_MODELS: Final = (
    *("e1000", "e1000e", "ne2k_pci", "pcnet", "rtl8139"),
    *("virtio", "vmxnet3"),
)
_NOTE: Final = "vif_"


@dataclasses.dataclass(frozen=True)
class VifShape:
    """What all interfaces of a guest have in common, those that it gets later, too."""

    model: str = "virtio"
    queues: int = 1
    bandwidth: Bandwidth = dataclasses.field(default_factory=Bandwidth)

    def notes(self) -> dict[str, str]:
        """Return it as a guest remembers it."""
        rates = {f"{_NOTE}{name}": str(rate) for name, rate in self.bandwidth.rates.items()}
        return {f"{_NOTE}model": self.model, f"{_NOTE}queues": str(self.queues), **rates}

    @classmethod
    def noted(cls, notes: Mapping[str, str]) -> Self:
        """Read what a guest remembers; one that was made before there was a choice has none."""
        said = {name.removeprefix(_NOTE): text for name, text in notes.items()
                if name.startswith(_NOTE)}  # fmt: skip
        model, queues = said.pop("model", "virtio"), int(said.pop("queues", "1"))
        return cls(model, queues, Bandwidth({name: int(rate) for name, rate in said.items()}))


@dataclasses.dataclass(frozen=True)
class Interface:
    """An interface of a port: on a bridge of this host, or else behind QEMU's own small router.

    The latter (``bridge`` is None) lets a guest reach out and nobody in, and needs nothing here.
    """

    port_id: str
    mac: str
    bridge: str | None = None
    mtu: int | None = None
    shape: VifShape = dataclasses.field(default_factory=VifShape)

    @classmethod
    def of(cls, vif: Vif, shape: VifShape | None = None) -> Self:
        """Read what a port is bound to.

        :raises roost.exception.BuildFailed: when this host cannot plug such a port
        """
        bridge = _bridge_of(vif)
        mtu = vif.mtu if bridge else None
        return cls(vif.id, vif.mac, bridge=bridge, mtu=mtu, shape=shape or VifShape())

    @property
    def alias(self) -> str:
        """By what libvirt and we find it again."""
        return f"ua-{self.port_id}"

    def element(self) -> ET.Element:
        return element(
            "interface",
            element("mac", address=self.mac),
            None if self.bridge is None else element("source", bridge=self.bridge),
            None if self.bridge is None else element("target", dev=tap_of(self.port_id)),
            element("model", type=self.shape.model),
            None if self.mtu is None else element("mtu", size=self.mtu),
            *(() if self.bridge is None else self._on_a_bridge()),
            element("alias", name=self.alias),
            type="user" if self.bridge is None else BRIDGE,
        )

    def _on_a_bridge(self) -> list[ET.Element | None]:
        """Return what QEMU's own router knows nothing of."""
        queues = self.shape.queues
        many = element("driver", queues=queues) if queues > 1 else None
        return [many, self.shape.bandwidth.element()]


def _bridge_of(vif: Vif) -> str | None:
    if vif.type is None:
        return None
    if vif.type != BRIDGE or "bridge_name" not in vif.details:
        raise exception.BuildFailed(
            f"Port {vif.id} is bound as {vif.type}, which this host cannot plug; it plugs ports"
            " that are bound as bridge with a bridge_name, and those of local networks."
        )
    return str(json.loads(vif.details["bridge_name"]))


def find_interface(domain: ET.Element, port_id: str) -> ET.Element | None:
    """Return the interface of a port."""
    alias = Interface(port_id, "").alias
    return domain.find(f"devices/interface/alias[@name='{alias}']/..")
