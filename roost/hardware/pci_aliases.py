"""The aliases of PCI devices, from ``[pci] alias``; flavors request devices by alias."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from roost import exception

DEVICE_TYPES: Final = ("type-PCI", "type-PF", "type-VF")
NUMA_POLICIES: Final = ("required", "preferred", "socket", "legacy")
_OPTION: Final = "[pci] alias"
_PCI_ID: Final = re.compile(r"[0-9a-fA-F]{4}")
_NOT_IN_SPECS: Final = ("name", "numa_policy", "device_type", "capability_type")


@dataclasses.dataclass(frozen=True)
class PciAlias:
    """The devices of one alias: those that meet one of ``specs``."""

    specs: tuple[Mapping[str, str], ...]
    numa_policy: str


def parse(options: Sequence[str]) -> dict[str, PciAlias]:
    """Parse aliases by name from JSON objects; entries of one name are alternatives.

    :raises roost.exception.Invalid: naming the entry and its error
    """
    aliases: dict[str, PciAlias] = {}
    for entry in options:
        for said in _objects(entry):
            name, alias = _parse_one(entry, said)
            known = aliases.get(name)
            aliases[name] = _joined(entry, known, alias) if known else alias
    return aliases


def _objects(entry: str) -> Iterator[Mapping[str, str]]:
    try:
        said: Any = json.loads(entry)
    except ValueError as error:
        raise _bad(entry, f"it is not JSON: {error}") from error
    for one in said if isinstance(said, list) else [said]:
        if not isinstance(one, dict):
            raise _bad(entry, "it must be a JSON object")
        if not all(isinstance(value, str) for value in one.values()):
            raise _bad(entry, "its values must be strings")
        yield one


def _parse_one(entry: str, said: Mapping[str, str]) -> tuple[str, PciAlias]:
    name = said.get("name", "").strip()
    if not name or "," in name or ":" in name:
        raise _bad(entry, "it needs a name, without ',' and ':'")
    for key in ("vendor_id", "product_id"):
        if key in said and not _PCI_ID.fullmatch(said[key]):
            raise _bad(entry, f"{key} must be four hexadecimal digits")
    policy = _one_of(entry, said, "numa_policy", NUMA_POLICIES, default="legacy")
    _one_of(entry, said, "capability_type", ("pci",), default="pci")
    spec = {key: value for key, value in said.items() if key not in _NOT_IN_SPECS}
    if "device_type" in said:
        spec["dev_type"] = _one_of(entry, said, "device_type", DEVICE_TYPES, default="")
    if not spec:
        raise _bad(entry, "it has no field that selects devices")
    return name, PciAlias(specs=(_with_small_ids(spec),), numa_policy=policy)


def _joined(entry: str, known: PciAlias, other: PciAlias) -> PciAlias:
    if known.numa_policy != other.numa_policy:
        raise _bad(entry, "another entry of this name has another numa_policy")
    if known.specs[0].get("dev_type") != other.specs[0].get("dev_type"):
        raise _bad(entry, "another entry of this name has another device_type")
    return PciAlias(specs=known.specs + other.specs, numa_policy=known.numa_policy)


def _with_small_ids(spec: Mapping[str, str]) -> dict[str, str]:
    return {
        key: value.lower() if key in ("vendor_id", "product_id") else value
        for key, value in spec.items()
    }


def _one_of(
    entry: str, said: Mapping[str, str], key: str, allowed: Sequence[str], *, default: str
) -> str:
    value = said.get(key, default)
    if value not in allowed:
        raise _bad(entry, f"{key} must be one of {', '.join(allowed)}")
    return value


def _bad(entry: str, why: str) -> exception.Invalid:
    return exception.Invalid(f"{_OPTION} has a bad entry {entry!r}: {why}")
