"""PCI passthrough: the devices that guests may have, and their assignment to guests.

A guest's devices are recorded in its plan, from before it is built until its folder is removed; so
none is assigned twice, even after a crash.
"""

import collections
import dataclasses
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

import libvirt
from oslo_serialization import jsonutils

from roost import exception
from roost.compute.collectors import Collected
from roost.compute.virt.libvirt import elements
from roost.compute.virt.libvirt.elements import element, find
from roost.objects import PciAllocation, PciPool

_PF, _VF, _PCI = "type-PF", "type-VF", "type-PCI"
_PARTS: Final = {"domain": 4, "bus": 2, "slot": 2, "function": 1}  # numbers of hexadecimal digits
_ID: Final = re.compile(r"[0-9a-fA-F]{4}")
_OPTION: Final = "[pci] device_spec"
_PCI_DEVICES: Final = libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_PCI_DEV
_NOT_DONE: Final = ("devname", "managed", "live_migratable", "remote_managed")
_WILD: Final = "*"
# domain:bus:slot.function; leading parts may be left out, and an empty part matches anything
_ADDRESS: Final = re.compile(
    r"(?:(?:(?P<domain>[0-9a-f]{1,4}|\*|):)?(?P<bus>[0-9a-f]{1,2}|\*|):)?"
    r"(?P<slot>[0-9a-f]{1,2}|\*|)(?:\.(?P<function>[0-7]|\*|))?",
    re.IGNORECASE,
)


class PciAddress(NamedTuple):
    """A PCI address, each part as hexadecimal digits."""

    domain: str
    bus: str
    slot: str
    function: str

    @classmethod
    def of(cls, part: Callable[[str], str]) -> Self:
        """Read an address; ``part`` returns each part by name: decimal, or 0x and more."""
        return cls(*(f"{int(part(name), 0):0{digits}x}" for name, digits in _PARTS.items()))

    def element(self) -> ET.Element:
        parts = {name: f"0x{part}" for name, part in self._asdict().items()}
        return element("address", **parts)


class DevicePoolKey(NamedTuple):
    """The attributes that devices of one pool share."""

    vendor_id: str
    product_id: str
    dev_type: str
    numa_node: int | None
    tags: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, request: PciAllocation) -> Self:
        return cls(
            request.vendor_id.lower(),
            request.product_id.lower(),
            request.dev_type,
            request.numa_node,
            frozenset(request.tags.items()),
        )


@dataclasses.dataclass(frozen=True)
class Device:
    """A PCI device; ``parent`` is the address of the physical function of a virtual one."""

    address: PciAddress
    kind: DevicePoolKey
    parent: PciAddress | None = None

    def element(self) -> ET.Element:
        """Return the ``hostdev`` element; libvirt detaches the device from the host meanwhile."""
        source = element("source", self.address.element())
        return element("hostdev", source, mode="subsystem", type="pci", managed="yes")


@dataclasses.dataclass(frozen=True)
class DeviceSpec:
    """Devices that may be assigned: patterns of attributes by name, and tags."""

    patterns: Mapping[str, str]
    tags: Mapping[str, str]

    def matches(self, device: Device) -> bool:
        values = {"vendor_id": device.kind.vendor_id, "product_id": device.kind.product_id}
        values |= device.address._asdict()
        return all(
            re.fullmatch(pattern, values[name], re.IGNORECASE)
            for name, pattern in self.patterns.items()
        )


class NodeDevices:
    """The devices of the node that may be assigned; ``found`` are those that libvirt listed last.

    Their number may change while the daemon runs: virtual functions come and go.

    :param connection: returns the connection to libvirt
    """

    interval = 60.0

    def __init__(self, connection: Callable[[], Any], specs: Sequence[DeviceSpec]) -> None:
        self._connection = connection
        self._specs = specs
        self.found: tuple[Device, ...] = ()

    def collect(self) -> Collected:
        """List them; a collector of the driver."""
        if self._specs:
            self.found = devices(
                map(elements.parse, self._connection().call("list its devices", _listed)),
                self._specs,
            )
        return Collected(pci_pools=tuple(pools(self.found)))


def _listed(opened: Any) -> list[str]:
    return [one.XMLDesc() for one in opened.listAllDevices(_PCI_DEVICES)]


def parse(options: Sequence[str]) -> tuple[DeviceSpec, ...]:
    """Parse ``device_spec`` values: JSON objects, or lists of them.

    :raises roost.exception.Invalid: naming the entry and the error
    """
    return tuple(_parse_one(entry, values) for entry in options for values in _objects(entry))


def _objects(entry: str) -> list[dict[str, object]]:
    try:
        values = jsonutils.loads(entry)
    except ValueError as error:
        raise _bad(entry, f"it is not JSON: {error}") from error
    found = values if isinstance(values, list) else [values]
    if not all(isinstance(one, dict) for one in found):
        raise _bad(entry, "it must be a JSON object")
    return found


def _parse_one(entry: str, values: Mapping[str, object]) -> DeviceSpec:
    for name in _NOT_DONE:
        if name in values:
            raise _bad(entry, f"{name} is not supported")
    patterns: dict[str, str] = {}
    for name in ("vendor_id", "product_id"):
        if values.get(name, _WILD) != _WILD:
            patterns[name] = _id(entry, name, values[name])
    patterns |= _address(entry, values.get("address", _WILD))
    if not patterns:
        raise _bad(entry, "it must name a vendor_id, a product_id or an address")
    tags = {name: value for name, value in values.items()
            if name not in ("vendor_id", "product_id", "address")}  # fmt: skip
    if not all(isinstance(value, str) for value in tags.values()):
        raise _bad(entry, "its tags must be strings")
    return DeviceSpec(patterns, {name: str(value) for name, value in tags.items()})


def _id(entry: str, name: str, value: object) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise _bad(entry, f"{name} must be four hexadecimal digits, or *")
    return value


def _address(entry: str, values: object) -> dict[str, str]:
    """Return patterns by part, from a text like ``*:0a:00.*`` or an object of patterns."""
    if values == _WILD:
        return {}
    if isinstance(values, str):
        match = _ADDRESS.fullmatch(values)
        if match is None or not any(match.groupdict().values()):
            raise _bad(entry, "address must be like 0000:0a:00.1, *:0a:00.* or 0a:00")
        return {name: f"0*{part}" for name, part in match.groupdict().items()
                if part and part != _WILD}  # fmt: skip
    if not isinstance(values, dict) or not {*values} <= {*_PARTS}:
        raise _bad(entry, f"address must be a string, or an object of {', '.join(_PARTS)}")
    return {str(name): _pattern(entry, str(name), value) for name, value in values.items()}


def _pattern(entry: str, name: str, value: object) -> str:
    try:
        re.compile(str(value))
    except re.error as error:
        raise _bad(entry, f"the {name} of its address is no pattern: {error}") from error
    return str(value)


def _bad(entry: str, why: str) -> exception.Invalid:
    return exception.Invalid(f"{_OPTION} has a bad entry {entry!r}: {why}")


def devices(reported: Iterable[ET.Element], specs: Sequence[DeviceSpec]) -> tuple[Device, ...]:
    """Return the devices that libvirt reports and that a spec allows.

    A device has the tags of the first spec that matches. A physical function is left out if one of
    its virtual functions is in.
    """
    found = []
    for node in reported:
        device = _device(find(node, "capability[@type='pci']"))
        spec = next((one for one in specs if one.matches(device)), None)
        if spec is not None:
            kind = device.kind._replace(tags=frozenset(spec.tags.items()))
            found.append(dataclasses.replace(device, kind=kind))
    parents = {device.parent for device in found}
    return tuple(
        sorted((one for one in found if one.address not in parents), key=lambda one: one.address)
    )


def _device(capability: ET.Element) -> Device:
    parent = capability.find("capability[@type='phys_function']/address")
    numa = capability.find("numa")
    kind = DevicePoolKey(
        vendor_id=find(capability, "vendor").attrib["id"].removeprefix("0x"),
        product_id=find(capability, "product").attrib["id"].removeprefix("0x"),
        dev_type=_type(capability),
        numa_node=None if numa is None else int(numa.attrib["node"]),
        tags=frozenset(),
    )
    return Device(
        address=PciAddress.of(lambda name: find(capability, name).text or ""),
        kind=kind,
        parent=None if parent is None else PciAddress.of(parent.attrib.__getitem__),
    )


def _type(capability: ET.Element) -> str:
    if capability.find("capability[@type='phys_function']") is not None:
        return _VF
    return _PCI if capability.find("capability[@type='virt_functions']") is None else _PF


def pools(found: Iterable[Device]) -> tuple[PciPool, ...]:
    """Return the number of devices of each kind, free or not."""
    counts = collections.Counter(device.kind for device in found)
    return tuple(
        PciPool.of(**kind._asdict() | {"tags": dict(kind.tags), "count": count})
        for kind, count in counts.items()
    )


def taken(plans: Iterable[ET.Element]) -> set[PciAddress]:
    """Return the addresses of the devices that guests have."""
    path = "devices/hostdev[@type='pci']/source/address"
    return {PciAddress.of(one.attrib.__getitem__) for plan in plans for one in plan.iterfind(path)}


def choose(
    requests: Iterable[PciAllocation], found: Sequence[Device], used: Collection[PciAddress]
) -> list[Device]:
    """Return free devices that satisfy the requests.

    :raises roost.exception.BuildFailed: when there are too few; other hosts may have them
    """
    free = [device for device in found if device.address not in used]
    chosen: list[Device] = []
    for each in requests:
        fitting = [one for one in free if one.kind == DevicePoolKey.of(each) and one not in chosen]
        if len(fitting) < each.count:
            raise exception.BuildFailed(
                f"This host has too few free devices {each.vendor_id}:{each.product_id} for"
                f" {each.alias}: {each.count} requested, {len(fitting)} free."
            )
        chosen += fitting[: each.count]
    return chosen
