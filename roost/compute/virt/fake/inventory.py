"""Simulated hardware of hosts, from a JSON file that is read when the compute starts.

Entries by host name, ``*`` for all other hosts; missing keys have the value of the options, or
none::

    {
      "cell1-host1": {
        "memory_mb": 65536,
        "disk_gb": 500,
        "traits": ["HW_CPU_X86_AVX2"],
        "numa_cells": [
          {"id": 0, "cpus": [0, 1], "pcpus": [2, 3], "memory_mb": 32768},
          {"id": 1, "cpus": [4], "pcpus": [6, 7], "memory_mb": 32768, "page_counts": {"2048": 9}}
        ],
        "pci_pools": [{"vendor_id": "8086", "product_id": "1520", "numa_node": 1, "count": 4}]
      },
      "*": {"vcpus": 16, "labels": ["rack7"], "metrics": {"temperature": 21.5}}
    }

=======================  =======================================================================
key                      meaning
=======================  =======================================================================
vcpus                    CPUs that guests share; default: those of its NUMA cells
pcpus                    dedicated CPUs (one guest each); default: those of its NUMA cells
memory_mb                MiB of memory; default: that of its NUMA cells
disk_gb                  GiB of disk
hypervisor_type          a name, like ``QEMU``
hypervisor_version       a number, like 6002000
architectures            of guests that it runs, like ``aarch64``
capabilities             texts by name, which extra specs are compared with
traits                   names, like ``HW_CPU_X86_AVX2``
labels                   locations that it is at or reaches
cpu_info                 an object that describes its CPUs to operators
booted_at                simulated boot time, like ``2026-11-21T09:30:00+00:00``; default: when the
                         compute started
load_average             three numbers: the simulated load of the last minute, 5 and 15 minutes;
                         default: the load of the compute's machine
users                    simulated number of logged-in users, if there is a ``load_average``
metrics                  simulated measurements: numbers by name
numa_cells               the fields of :class:`roost.objects.NUMACell`
pci_pools                the fields of :class:`roost.objects.PciPool`
inventories              the fields of :class:`roost.objects.ResourceInventory`
providers                the fields of :class:`roost.objects.ResourceProvider`: parts of the host
                         with inventories and traits of their own
=======================  =======================================================================
"""

import dataclasses
import datetime
import json
import pathlib
from collections.abc import Mapping
from typing import Any, Final

import jsonschema
from jsonschema import exceptions as schema_exceptions

from roost import exception
from roost.compute.virt.driver import HostResources, Load
from roost.objects import NUMACell, PciPool, ResourceInventory, ResourceProvider
from roost.objects.inventory import complaint_about, orphans_among

ALL_OTHERS: Final = "*"
_SOME: Final = {"type": "integer", "minimum": 0}
_ONE_OR_MORE: Final = {"type": "integer", "minimum": 1}
_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_NUMBERS: Final = {"type": "array", "items": _SOME}


def _object(required: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


_INVENTORIES: Final = {
    "type": "array",
    "items": _object(
        ["resource_class", "total", "max_unit"],
        {
            "resource_class": _TEXT,
            **dict.fromkeys(("total", "reserved"), _SOME),
            **dict.fromkeys(("min_unit", "max_unit", "step_size"), _ONE_OR_MORE),
            "allocation_ratio": {"type": "number", "exclusiveMinimum": 0},
        },
    ),
}
_HOST: Final = _object(
    [],
    {
        "vcpus": _ONE_OR_MORE,
        "pcpus": _SOME,
        "memory_mb": _ONE_OR_MORE,
        "disk_gb": _ONE_OR_MORE,
        "hypervisor_type": _TEXT,
        "hypervisor_version": _ONE_OR_MORE,
        "architectures": _TEXTS,
        "capabilities": {"type": "object", "additionalProperties": _TEXT},
        "traits": _TEXTS,
        "labels": _TEXTS,
        "cpu_info": {"type": "object"},
        "booted_at": _TEXT,
        "load_average": {
            "type": "array",
            "items": {"type": "number", "minimum": 0},
            "minItems": 3,
            "maxItems": 3,
        },
        "users": _SOME,
        "metrics": {"type": "object", "additionalProperties": {"type": "number"}},
        "numa_cells": {
            "type": "array",
            "items": _object(
                ["id", "cpus", "memory_mb"],
                {
                    "id": _SOME,
                    "cpus": _NUMBERS,
                    "pcpus": _NUMBERS,
                    "memory_mb": _SOME,
                    "siblings": {"type": "array", "items": _NUMBERS},
                    "page_counts": {"type": "object", "additionalProperties": _SOME},
                    "socket": _SOME,
                },
            ),
        },
        "inventories": _INVENTORIES,
        "providers": {
            "type": "array",
            "items": _object(
                ["name"],
                {"name": _TEXT, "parent": _TEXT, "traits": _TEXTS, "inventories": _INVENTORIES},
            ),
        },
        "pci_pools": {
            "type": "array",
            "items": _object(
                ["vendor_id", "product_id", "count"],
                {
                    "vendor_id": _TEXT,
                    "product_id": _TEXT,
                    "dev_type": {"enum": ["type-PCI", "type-PF", "type-VF"]},
                    "numa_node": {"type": ["integer", "null"]},
                    "count": _SOME,
                    "tags": {"type": "object", "additionalProperties": _TEXT},
                },
            ),
        },
    },
)
_SCHEMA: Final = {"type": "object", "additionalProperties": _HOST}


@dataclasses.dataclass(frozen=True)
class Inventory:
    """The simulated hardware of one host: the values of its entry by name."""

    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def metrics(self) -> dict[str, float]:
        return dict(self.values.get("metrics", {}))

    @property
    def load(self) -> Load | None:
        """The simulated load; None: none is given."""
        given = self.values.get("load_average")
        if given is None:
            return None
        last, five, fifteen = map(float, given)
        return Load(averages=(last, five, fifteen), users=self.values.get("users", 0))

    def resources(self, node: str, *, vcpus: int, memory_mb: int, disk_gb: int) -> HostResources:
        """Return the node; the arguments are defaults where neither entry nor cells name a size."""
        given = self.values
        cells = tuple(NUMACell.of(**{"pcpus": [], **one}) for one in given.get("numa_cells", []))
        return HostResources(
            node=node,
            vcpus=given.get("vcpus") or sum(len(cell.cpus) for cell in cells) or vcpus,
            pcpus=given.get("pcpus", sum(len(cell.pcpus) for cell in cells)),
            memory_mb=given.get("memory_mb") or sum(cell.memory_mb for cell in cells) or memory_mb,
            disk_gb=given.get("disk_gb", disk_gb),
            hypervisor_type=given.get("hypervisor_type", "fake"),
            hypervisor_version=given.get("hypervisor_version", 1),
            architectures=tuple(given.get("architectures", ["x86_64"])),
            capabilities=dict(given.get("capabilities", {})),
            traits=tuple(given.get("traits", [])),
            labels=tuple(given.get("labels", [])),
            numa_cells=cells,
            cpu_info=dict(given.get("cpu_info", {})),
            booted_at=_time(given.get("booted_at")),
            pci_pools=tuple(PciPool.of(**one) for one in given.get("pci_pools", [])),
            inventories=_inventories(given),
            providers=_providers(given),
        )


def read(path: str | pathlib.Path | None, *, host: str) -> Inventory:
    """Return the inventory of a host; an empty one without a file or an entry.

    :raises roost.exception.Invalid: naming the file, the key and the error
    """
    if not path:
        return Inventory()
    try:
        entries = json.loads(pathlib.Path(path).read_text())
        check(entries)
    except (OSError, ValueError) as error:
        raise exception.Invalid(f"inventory file {path}: {error}") from error
    return Inventory(entries.get(host, entries.get(ALL_OTHERS, {})))


def check(entries: Any) -> None:
    """Validate entries by host.

    :raises ValueError: naming the key and the error
    """
    validator = jsonschema.Draft202012Validator(_SCHEMA)
    wrong = schema_exceptions.best_match(validator.iter_errors(entries))
    if wrong is not None:
        raise ValueError(f"{_key(wrong.absolute_path)}: {wrong.message}")
    for host, entry in entries.items():
        try:
            _time(entry.get("booted_at"))
        except ValueError as error:
            raise ValueError(f"{host}.booted_at: {error}") from error
        _check_inventories(host, entry)


def _check_inventories(host: str, entry: Mapping[str, Any]) -> None:
    providers = _providers(entry)
    complaint = complaint_about(_inventories(entry), (), providers)
    for name in sorted(orphans_among(providers)):
        parent = next(one.parent for one in providers if one.name == name)
        complaint = complaint or f"the provider {name} has the unknown parent {parent}"
    if complaint is not None:
        raise ValueError(f"{host}: {complaint}")


def _inventories(given: Mapping[str, Any]) -> tuple[ResourceInventory, ...]:
    return tuple(ResourceInventory.of(**one) for one in given.get("inventories", []))


def _providers(given: Mapping[str, Any]) -> tuple[ResourceProvider, ...]:
    return tuple(
        ResourceProvider.of(**{**one, "inventories": list(_inventories(one))})
        for one in given.get("providers", [])
    )


def _time(text: str | None) -> datetime.datetime:
    """Parse a time (without zone: UTC); None: now."""
    if text is None:
        return datetime.datetime.now(datetime.UTC)
    found = datetime.datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)


def _key(path: Any) -> str:
    """Return the path to a value as text: ``h1.numa_cells[0].cpus``."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]
    return "".join(steps).removeprefix(".") or "the file"
