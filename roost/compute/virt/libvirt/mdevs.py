"""Virtual GPUs: mediated devices, which libvirt creates from physical ones for one guest each.

Each physical device of an enabled type is a part of the host with an inventory of ``VGPU``. A
guest's devices are recorded in its plan, from before it is built until its folder is removed, with
all that is needed to create them again: they are gone when the host restarts.
"""

import dataclasses
import functools
import logging
import pathlib
import uuid as uuids
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Self

import libvirt
from oslo_config import cfg

from roost import exception
from roost.compute.collectors import Collected
from roost.compute.virt.driver import GuestResources
from roost.compute.virt.libvirt.connection import Connection
from roost.compute.virt.libvirt.elements import element, parse
from roost.compute.virt.libvirt.identity import GuestIdentity, is_guest
from roost.objects import ResourceInventory, ResourceProvider

LOG = logging.getLogger(__name__)
VGPU: Final = "VGPU"
_SECONDS: Final = 8.0  # timeout of a question of the collector
_NOTE: Final = "mdevs"
_PARENTS: Final = libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_MDEV_TYPES
_CREATED: Final = libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_MDEV


@dataclasses.dataclass(frozen=True)
class MediatedDevice:
    """A mediated device of a guest; ``parent`` is libvirt's name of the physical one."""

    uuid: str
    parent: str
    type_id: str

    def element(self) -> ET.Element:
        """Return the ``hostdev`` element of a guest."""
        source = element("source", element("address", uuid=self.uuid))
        return element("hostdev", source, mode="subsystem", type="mdev", model="vfio-pci")

    def node_device(self) -> str:
        """Return the XML by which libvirt creates it."""
        found = element(
            "device",
            element("parent", text=self.parent),
            element(
                "capability",
                element("type", id=self.type_id),
                element("uuid", text=self.uuid),
                type="mdev",
            ),
        )
        return ET.tostring(found, encoding="unicode")

    def note(self) -> str:
        return f"{self.uuid}/{self.parent}/{self.type_id}"

    @classmethod
    def noted(cls, text: str) -> Self:
        """Read a :meth:`note`."""
        return cls(*text.split("/", 2))


@dataclasses.dataclass(frozen=True)
class VirtualGpus:
    """The collector of virtual GPUs; a physical device has the first enabled type that it knows."""

    connection: Any
    types: tuple[str, ...]
    interval: float = 60.0

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, *, node: str) -> Self:  # noqa: ARG003 - the protocol's
        connection = Connection(conf.libvirt.connection_uri, seconds=_SECONDS)
        return cls(connection, tuple(conf.devices.enabled_mdev_types))

    def collect(self) -> Collected:
        if not self.types:
            return Collected()
        return self.connection.call(  # type: ignore[no-any-return]
            "list its mediated devices",
            lambda opened: Collected(providers=tuple(_providers(opened, self.types))),
        )


@dataclasses.dataclass(frozen=True)
class MediatedDevices:
    """The devices of all guests of a host.

    :param types: that may be created; a physical device has the first that it supports
    """

    connection: Callable[[], Any]
    types: tuple[str, ...]

    def choose(self, guest: GuestIdentity, resources: GuestResources) -> tuple[MediatedDevice, ...]:
        """Return the devices of a guest, which are not created yet; the same for the same guest.

        :raises roost.exception.BuildFailed: when a device is not there; other hosts may have it
        """
        wanted = [
            (parent, number)
            for parent, amounts in sorted(resources.allocations.items())
            for number in range(amounts.get(VGPU, 0))
        ]
        types = self._types_by_parent() if wanted else {}
        found = []
        for parent, number in wanted:
            if parent not in types:
                raise exception.BuildFailed(
                    f"This host has no {parent or 'device'} with a type of [devices]"
                    " enabled_mdev_types."
                )
            uuid = uuids.uuid5(uuids.UUID(guest.uuid), f"{parent} {number}")
            found.append(MediatedDevice(str(uuid), parent, types[parent]))
        return tuple(found)

    def remove(self, plan: pathlib.Path) -> None:
        """Remove the devices of a stopped guest; without a plan it has none."""
        wanted = devices_of(parse(plan.read_text())) if plan.exists() else []
        if wanted:
            self.connection().call(
                "remove mediated devices", functools.partial(_remove, devices=wanted)
            )

    def _types_by_parent(self) -> dict[str, str]:
        listed = self.connection().call(
            "list its mediated devices", lambda opened: _listed(opened, _PARENTS)
        )
        types = {one.findtext("name") or "": _type(one, self.types) for one in listed}
        return {name: one.attrib["id"] for name, one in types.items() if one is not None}


def notes_of(devices: Iterable[object]) -> Mapping[str, str]:
    """Return the notes on a guest's devices to record with it, of those that are mediated."""
    found = [device.note() for device in devices if isinstance(device, MediatedDevice)]
    return {_NOTE: " ".join(found)} if found else {}


def devices_of(domain: ET.Element) -> list[MediatedDevice]:
    """Return the devices recorded with a guest."""
    noted = GuestIdentity.of(domain).notes.get(_NOTE, "")
    return [MediatedDevice.noted(text) for text in noted.split()]


def create(opened: Any, domain: ET.Element) -> None:
    """Create the devices of a guest that do not exist."""
    wanted = devices_of(domain)
    there = set(_created(opened)) if wanted else set()
    for device in wanted:
        if device.uuid not in there:
            opened.nodeDeviceCreateXML(device.node_device(), 0)


def _remove(opened: Any, devices: Iterable[MediatedDevice]) -> None:
    there = _created(opened)
    for device in devices:
        if device.uuid in there:
            opened.nodeDeviceLookupByName(there[device.uuid]).destroy()


def _providers(opened: Any, types: Sequence[str]) -> Iterator[ResourceProvider]:
    used = [(one.parent, one.type_id) for one in _of_guests(opened)]
    for one in _listed(opened, _PARENTS):
        name, type_id = one.findtext("name") or "", _type(one, types)
        if type_id is None:
            LOG.debug("%s has no type of [devices] enabled_mdev_types", name)
            continue
        free = int(type_id.findtext("availableInstances") or 0)
        total = free + used.count((name, type_id.attrib["id"]))
        inventory = ResourceInventory.of(resource_class=VGPU, total=total, max_unit=max(1, total))
        yield ResourceProvider.of(name=name, inventories=[inventory])


def _of_guests(opened: Any) -> Iterator[MediatedDevice]:
    """Yield the devices of guests that exist; those that others create are not for guests."""
    there = _created(opened)
    for domain in opened.listAllDomains() if there else ():
        if is_guest(domain):
            yield from (one for one in devices_of(parse(domain.XMLDesc())) if one.uuid in there)


def _type(device: ET.Element, types: Sequence[str]) -> ET.Element | None:
    """Return the first of these types that a physical device has."""
    path = ".//capability[@type='mdev_types']/type"
    known = {one.attrib["id"]: one for one in device.iterfind(path)}
    return next((known[one] for one in types if one in known), None)


def _created(opened: Any) -> dict[str, str]:
    """Return the names of the devices that exist, by uuid; older libvirts have it in the name."""
    found = {}
    for one in _listed(opened, _CREATED):
        name = one.findtext("name") or ""
        in_name = "-".join(name.removeprefix("mdev_").split("_")[:5])
        found[one.findtext("capability/uuid") or in_name] = name
    return found


def _listed(opened: Any, flags: int) -> list[ET.Element]:
    return [parse(one.XMLDesc()) for one in opened.listAllDevices(flags)]
