"""The network interfaces of a guest, and how they are plugged on this host."""

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
_ALIAS: Final = "ua-"  # libvirt requires this prefix of user-defined aliases


@dataclasses.dataclass(frozen=True)
class VifShape:
    """The properties that all interfaces of a guest share, including those attached later."""

    model: str = "virtio"
    queues: int = 1
    bandwidth: Bandwidth = dataclasses.field(default_factory=Bandwidth)
    packed: bool = False

    def notes(self) -> dict[str, str]:
        """Return the notes that record it with the guest."""
        rates = {f"{_NOTE}{name}": str(rate) for name, rate in self.bandwidth.rates.items()}
        ring = {f"{_NOTE}packed": "on"} if self.packed else {}
        return {f"{_NOTE}model": self.model, f"{_NOTE}queues": str(self.queues), **ring, **rates}

    @classmethod
    def noted(cls, notes: Mapping[str, str]) -> Self:
        """Read it from a guest's notes; guests of earlier releases have none."""
        values = {name.removeprefix(_NOTE): text for name, text in notes.items()
                if name.startswith(_NOTE)}  # fmt: skip
        model, queues = values.pop("model", "virtio"), int(values.pop("queues", "1"))
        packed = values.pop("packed", "off") == "on"
        rates = {name: int(rate) for name, rate in values.items()}
        return cls(model, queues, Bandwidth(rates), packed=packed)


@dataclasses.dataclass(frozen=True)
class GuestInterface:
    """An interface of a port: plugged as its binding says, or in QEMU's user-mode network.

    The latter (``binding`` is None) allows outgoing connections only, and needs nothing on the
    host. The guest does not boot from an interface without ``boot_order``.
    """

    port_id: str
    mac: str
    binding: Binding | None = None
    shape: VifShape = dataclasses.field(default_factory=VifShape)
    boot_order: int | None = None

    @classmethod
    def of(cls, vif: Vif, shape: VifShape | None = None) -> Self:
        """Read the binding of a port.

        :raises roost.exception.BuildFailed: when this host cannot plug such a port
        """
        return cls(vif.id, vif.mac, binding=Binding.of(vif), shape=shape or VifShape())

    @property
    def alias(self) -> str:
        """The alias by which we find the interface in the domain."""
        return f"{_ALIAS}{self.port_id}"

    def element(self) -> ET.Element:
        return element(
            "interface",
            element("mac", address=self.mac),
            *self._source(),
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

    def _source(self) -> list[ET.Element | None]:
        """Return its bridge and tap device; without a bridge, the existing tap device."""
        if self.binding is None:
            return []
        bridge, tap = self.binding.bridge, self.binding.tap
        if bridge is None:
            return [element("target", dev=tap, managed="no")]
        return [element("source", bridge=bridge), self._switch(), element("target", dev=tap)]

    def _switch(self) -> ET.Element | None:
        """Return the port's id for Open vSwitch and its controller."""
        if self.binding is None or self.binding.kind != OVS or self.binding.is_hybrid:
            return None
        known = element("parameters", interfaceid=self.port_id)
        return element("virtualport", known, type="openvswitch")

    def _driver(self) -> ET.Element | None:
        """Return the driver's options; multiqueue is possible only on bridges."""
        values: dict[str, str | int] = {}
        if self.shape.queues > 1 and self.binding is not None and self.binding.bridge is not None:
            values["queues"] = self.shape.queues
        if self.shape.packed:
            values["packed"] = "on"
        return element("driver", **values) if values else None

    def _link(self) -> list[ET.Element | None]:
        """Return MTU and bandwidth, which the user-mode network does not support."""
        if self.binding is None:
            return []
        return [
            None if self.binding.mtu is None else element("mtu", size=self.binding.mtu),
            self.shape.bandwidth.element(),
        ]


def all_of(
    vifs: Iterable[Vif], shape: VifShape, *, network_boot: bool = False
) -> tuple[GuestInterface, ...]:
    """Return a new guest's interfaces; with ``network_boot`` it boots from the first."""
    found = [GuestInterface.of(vif, shape) for vif in vifs]
    if network_boot:
        found[:1] = [dataclasses.replace(one, boot_order=NETWORK) for one in found[:1]]
    return tuple(found)


def find_interface(domain: ET.Element, port_id: str) -> ET.Element | None:
    """Return the interface of a port in a domain."""
    alias = GuestInterface(port_id, "").alias
    return domain.find(f"devices/interface/alias[@name='{alias}']/..")


def port_of(interface: ET.Element) -> str:
    """Return the port of an interface."""
    alias = interface.find("alias")
    return "" if alias is None else alias.attrib["name"].removeprefix(_ALIAS)
