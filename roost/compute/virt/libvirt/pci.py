"""Devices of a host that guests may have: which there are, and which of them a guest gets.

What a guest has stands in its plan, from before it is made until its folder is gone; so it is never
given to another one, whatever ends meanwhile.
"""

import collections
import dataclasses
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Self

from oslo_serialization import jsonutils

from roost import exception
from roost.compute.virt.libvirt.elements import element, find
from roost.objects import PciAllocation, PciPool

_PF, _VF, _PCI = "type-PF", "type-VF", "type-PCI"
_PARTS: Final = {"domain": 4, "bus": 2, "slot": 2, "function": 1}  # and their hexadecimal digits
_ID: Final = re.compile(r"[0-9a-fA-F]{4}")
_OPTION: Final = "[pci] device_spec"
_NOT_DONE: Final = ("devname", "managed", "live_migratable", "remote_managed")
_WILD: Final = "*"
# domain:bus:slot.function, of which all in front may be left out; nothing at all is anything
_ADDRESS: Final = re.compile(
    r"(?:(?:(?P<domain>[0-9a-f]{1,4}|\*|):)?(?P<bus>[0-9a-f]{1,2}|\*|):)?"
    r"(?P<slot>[0-9a-f]{1,2}|\*|)(?:\.(?P<function>[0-7]|\*|))?",
    re.IGNORECASE,
)


class PciAddress(NamedTuple):
    """Where a device is, each part as hexadecimal digits."""

    domain: str
    bus: str
    slot: str
    function: str

    @classmethod
    def of(cls, said: Callable[[str], str]) -> Self:
        """Read the numbers of an address by the names of its parts: decimal, or 0x and more."""
        return cls(*(f"{int(said(name), 0):0{digits}x}" for name, digits in _PARTS.items()))

    def element(self) -> ET.Element:
        parts = {name: f"0x{part}" for name, part in self._asdict().items()}
        return element("address", **parts)


class DevicePoolKey(NamedTuple):
    """What tells devices of one pool from those of others."""

    vendor_id: str
    product_id: str
    dev_type: str
    numa_node: int | None
    tags: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, asked: PciAllocation) -> Self:
        return cls(
            asked.vendor_id.lower(),
            asked.product_id.lower(),
            asked.dev_type,
            asked.numa_node,
            frozenset(asked.tags.items()),
        )


@dataclasses.dataclass(frozen=True)
class Device:
    """A device of the host; ``parent`` is where the physical function is that it is a part of."""

    address: PciAddress
    kind: DevicePoolKey
    parent: PciAddress | None = None

    def element(self) -> ET.Element:
        """Return it as a guest has it: taken from the host while that runs."""
        source = element("source", self.address.element())
        return element("hostdev", source, mode="subsystem", type="pci", managed="yes")


@dataclasses.dataclass(frozen=True)
class DeviceSpec:
    """Devices that may be given away: patterns of their values by name, and their tags."""

    patterns: Mapping[str, str]
    tags: Mapping[str, str]

    def matches(self, device: Device) -> bool:
        values = {"vendor_id": device.kind.vendor_id, "product_id": device.kind.product_id}
        values |= device.address._asdict()
        return all(
            re.fullmatch(pattern, values[name], re.IGNORECASE)
            for name, pattern in self.patterns.items()
        )


def parse(options: Sequence[str]) -> tuple[DeviceSpec, ...]:
    """Read what is JSON objects, or lists of them.

    :raises roost.exception.Invalid: naming the entry and what is wrong with it
    """
    return tuple(_parse_one(entry, said) for entry in options for said in _objects(entry))


def _objects(entry: str) -> list[dict[str, object]]:
    try:
        said = jsonutils.loads(entry)
    except ValueError as error:
        raise _bad(entry, f"it is not JSON: {error}") from error
    found = said if isinstance(said, list) else [said]
    if not all(isinstance(one, dict) for one in found):
        raise _bad(entry, "it must be a JSON object")
    return found


def _parse_one(entry: str, said: Mapping[str, object]) -> DeviceSpec:
    for name in _NOT_DONE:
        if name in said:
            raise _bad(entry, f"{name} is not supported")
    patterns: dict[str, str] = {}
    for name in ("vendor_id", "product_id"):
        if said.get(name, _WILD) != _WILD:
            patterns[name] = _id(entry, name, said[name])
    patterns |= _address(entry, said.get("address", _WILD))
    if not patterns:
        raise _bad(entry, "it must name a vendor_id, a product_id or an address")
    tags = {name: value for name, value in said.items()
            if name not in ("vendor_id", "product_id", "address")}  # fmt: skip
    if not all(isinstance(value, str) for value in tags.values()):
        raise _bad(entry, "its tags must be strings")
    return DeviceSpec(patterns, {name: str(value) for name, value in tags.items()})


def _id(entry: str, name: str, value: object) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise _bad(entry, f"{name} must be four hexadecimal digits, or *")
    return value


def _address(entry: str, said: object) -> dict[str, str]:
    """Return patterns of the parts: of a text like ``*:0a:00.*``, or of an object of patterns."""
    if said == _WILD:
        return {}
    if isinstance(said, str):
        match = _ADDRESS.fullmatch(said)
        if match is None or not any(match.groupdict().values()):
            raise _bad(entry, "address must be like 0000:0a:00.1, *:0a:00.* or 0a:00")
        return {name: f"0*{part}" for name, part in match.groupdict().items()
                if part and part != _WILD}  # fmt: skip
    if not isinstance(said, dict) or not {*said} <= {*_PARTS}:
        raise _bad(entry, f"address must be a text, or have only {', '.join(_PARTS)}")
    return {str(name): _pattern(entry, str(name), value) for name, value in said.items()}


def _pattern(entry: str, name: str, value: object) -> str:
    try:
        re.compile(str(value))
    except re.error as error:
        raise _bad(entry, f"the {name} of its address is no pattern: {error}") from error
    return str(value)


def _bad(entry: str, why: str) -> exception.Invalid:
    return exception.Invalid(f"{_OPTION} has a bad entry {entry!r}: {why}")


def devices(told: Iterable[ET.Element], specs: Sequence[DeviceSpec]) -> tuple[Device, ...]:
    """Return what may be given away of what libvirt tells of.

    The first spec that a device meets says its tags. A physical function is not given away beside
    its virtual ones, which would go with it.
    """
    found = []
    for node in told:
        device = _device(find(node, "capability[@type='pci']"))
        spec = next((one for one in specs if one.matches(device)), None)
        if spec is not None:
            kind = device.kind._replace(tags=frozenset(spec.tags.items()))
            found.append(dataclasses.replace(device, kind=kind))
    parents = {device.parent for device in found}
    return tuple(sorted((one for one in found if one.address not in parents), key=_place))


def _place(device: Device) -> PciAddress:
    return device.address


def _device(told: ET.Element) -> Device:
    parent, numa = told.find("capability[@type='phys_function']/address"), told.find("numa")
    kind = DevicePoolKey(
        vendor_id=find(told, "vendor").attrib["id"].removeprefix("0x"),
        product_id=find(told, "product").attrib["id"].removeprefix("0x"),
        dev_type=_type(told),
        numa_node=None if numa is None else int(numa.attrib["node"]),
        tags=frozenset(),
    )
    return Device(
        address=PciAddress.of(lambda name: find(told, name).text or ""),
        kind=kind,
        parent=None if parent is None else PciAddress.of(parent.attrib.__getitem__),
    )


def _type(told: ET.Element) -> str:
    if told.find("capability[@type='phys_function']") is not None:
        return _VF
    return _PCI if told.find("capability[@type='virt_functions']") is None else _PF


def pools(found: Iterable[Device]) -> tuple[PciPool, ...]:
    """Return how many there are of each kind, whoever has them."""
    counts = collections.Counter(device.kind for device in found)
    return tuple(
        PciPool.of(**kind._asdict() | {"tags": dict(kind.tags), "count": count})
        for kind, count in counts.items()
    )


def taken(plans: Iterable[ET.Element]) -> set[PciAddress]:
    """Return which devices guests have."""
    path = "devices/hostdev[@type='pci']/source/address"
    return {PciAddress.of(one.attrib.__getitem__) for plan in plans for one in plan.iterfind(path)}


def choose(
    asked: Iterable[PciAllocation], found: Sequence[Device], used: Collection[PciAddress]
) -> list[Device]:
    """Return as many free devices as are asked for of each kind.

    :raises roost.exception.BuildFailed: when there are too few; other hosts may have them
    """
    free = [device for device in found if device.address not in used]
    chosen: list[Device] = []
    for each in asked:
        fitting = [one for one in free if one.kind == DevicePoolKey.of(each) and one not in chosen]
        if len(fitting) < each.count:
            raise exception.BuildFailed(
                f"This host has not enough free devices {each.vendor_id}:{each.product_id} for"
                f" {each.alias}: {each.count} asked, {len(fitting)} free."
            )
        chosen += fitting[: each.count]
    return chosen
