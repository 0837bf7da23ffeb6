"""The interfaces of a guest: what its ports are plugged into on this host."""

import dataclasses
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from typing import Final, Self

from roost.compute.network.bindings import OVS, Binding
from roost.compute.virt.libvirt.disks import NETWORK
from roost.compute.virt.libvirt.elements import element
from roost.compute.virt.libvirt.tuning import Bandwidth
from roost.objects import Vif

_NOTE: Final = "vif_"
_ALIAS: Final = "ua-"  # libvirt leaves those of users alone, which begin like this


@dataclasses.dataclass(frozen=True)
class VifShape:
    """What all interfaces of a guest have in common, those that it gets later, too."""

    model: str = "virtio"
    queues: int = 1
    bandwidth: Bandwidth = dataclasses.field(default_factory=Bandwidth)
    packed: bool = False

    def notes(self) -> dict[str, str]:
        """Return it as a guest remembers it."""
        rates = {f"{_NOTE}{name}": str(rate) for name, rate in self.bandwidth.rates.items()}
        ring = {f"{_NOTE}packed": "on"} if self.packed else {}
        return {f"{_NOTE}model": self.model, f"{_NOTE}queues": str(self.queues), **ring, **rates}

    @classmethod
    def noted(cls, notes: Mapping[str, str]) -> Self:
        """Read what a guest remembers; one that was made before there was a choice has none."""
        said = {name.removeprefix(_NOTE): text for name, text in notes.items()
                if name.startswith(_NOTE)}  # fmt: skip
        model, queues = said.pop("model", "virtio"), int(said.pop("queues", "1"))
        packed = said.pop("packed", "off") == "on"
        rates = {name: int(rate) for name, rate in said.items()}
        return cls(model, queues, Bandwidth(rates), packed=packed)


@dataclasses.dataclass(frozen=True)
class GuestInterface:
    """An interface of a port: plugged as it is bound, or else behind QEMU's own small router.

    The latter (``binding`` is None) lets a guest reach out and nobody in, and needs nothing here.
    What has no ``boot_order`` is not booted from.
    """

    port_id: str
    mac: str
    binding: Binding | None = None
    shape: VifShape = dataclasses.field(default_factory=VifShape)
    boot_order: int | None = None

    @classmethod
    def of(cls, vif: Vif, shape: VifShape | None = None) -> Self:
        """Read what a port is bound to.

        :raises roost.exception.BuildFailed: when this host cannot plug such a port
        """
        return cls(vif.id, vif.mac, binding=Binding.of(vif), shape=shape or VifShape())

    @property
    def alias(self) -> str:
        """By what libvirt and we find it again."""
        return f"{_ALIAS}{self.port_id}"

    def element(self) -> ET.Element:
        return element(
            "interface",
            element("mac", address=self.mac),
            *self._place(),
            element("model", type=self.shape.model),
            self._driver(),
            *self._link(),
            None if self.boot_order is None else element("boot", order=self.boot_order),
            element("alias", name=self.alias),
            type=self._type(),
        )

    def _type(self) -> str:
        if self.binding is None:
            return "user"
        return "ethernet" if self.binding.bridge is None else "bridge"

    def _place(self) -> list[ET.Element | None]:
        """Return where it is plugged; of a link that is no bridge's, that it is there already."""
        if self.binding is None:
            return []
        bridge, tap = self.binding.bridge, self.binding.tap
        if bridge is None:
            return [element("target", dev=tap, managed="no")]
        return [element("source", bridge=bridge), self._switch(), element("target", dev=tap)]

    def _switch(self) -> ET.Element | None:
        """Return by what Open vSwitch, and who steers it, know the port."""
        if self.binding is None or self.binding.kind != OVS or self.binding.is_hybrid:
            return None
        known = element("parameters", interfaceid=self.port_id)
        return element("virtualport", known, type="openvswitch")

    def _driver(self) -> ET.Element | None:
        """Return how it is asked; queues are a matter of bridges."""
        said: dict[str, str | int] = {}
        if self.shape.queues > 1 and self.binding is not None and self.binding.bridge is not None:
            said["queues"] = self.shape.queues
        if self.shape.packed:
            said["packed"] = "on"
        return element("driver", **said) if said else None

    def _link(self) -> list[ET.Element | None]:
        """Return what QEMU's own router knows nothing of."""
        if self.binding is None:
            return []
        return [
            None if self.binding.mtu is None else element("mtu", size=self.binding.mtu),
            self.shape.bandwidth.element(),
        ]


def all_of(
    vifs: Iterable[Vif], shape: VifShape, *, network_boot: bool = False
) -> tuple[GuestInterface, ...]:
    """Return the interfaces of a new guest, whose firmware may look for a system at the first."""
    found = [GuestInterface.of(vif, shape) for vif in vifs]
    if network_boot:
        found[:1] = [dataclasses.replace(one, boot_order=NETWORK) for one in found[:1]]
    return tuple(found)


def find_interface(domain: ET.Element, port_id: str) -> ET.Element | None:
    """Return the interface of a port."""
    alias = GuestInterface(port_id, "").alias
    return domain.find(f"devices/interface/alias[@name='{alias}']/..")


def port_of(interface: ET.Element) -> str:
    """Return the port that an interface is of."""
    alias = interface.find("alias")
    return "" if alias is None else alias.attrib["name"].removeprefix(_ALIAS)
