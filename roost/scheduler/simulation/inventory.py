"""Reads inventories: JSON files with the number of hosts of each kind.

::

    {"hosts": [
      {"name": "big", "count": 40, "cores": 64, "ram": 262144, "disk": 2000,
       "cpu_ratio": 4.0, "ram_ratio": 1.0, "disk_ratio": 1.0, "zone": "north"},
      {"name": "old", "count": 200, "cores": 32, "ram": 131072}
    ]}

Cores, ram and disk are in the units of the trace. Defaults: disk 0, ratios 1, zone nova.
"""

import json
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jsonschema

from roost import exception
from roost.db.scheduler.hosts import HostRow
from roost.scheduler.hosts import HostColumns
from roost.scheduler.simulation.amounts import MOST_IN_ALL, supply
from roost.scheduler.simulation.replay import SIZES

_CELL: Final = "simulated"
_MOST_HOSTS: Final = 1_000_000
_RATIOS: Final = ("cpu_ratio", "ram_ratio", "disk_ratio")
_AMOUNT: Final = {"type": "number", "minimum": 0, "maximum": 10**12}
_RATIO: Final = {"type": "number", "exclusiveMinimum": 0, "maximum": 1000}
_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "hosts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "count": {"type": "integer", "minimum": 0, "maximum": _MOST_HOSTS},
                    **dict.fromkeys(("cores", "ram", "disk"), _AMOUNT),
                    **dict.fromkeys(_RATIOS, _RATIO),
                    "zone": {"type": "string", "minLength": 1},
                },
                "required": ["count", "cores", "ram"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["hosts"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class HostKind:
    """Identical hosts. Amounts as in ``amounts``, before overcommit."""

    name: str
    count: int
    cores: int
    ram: int
    disk: int = 0
    ratios: tuple[float, float, float] = (1.0, 1.0, 1.0)
    zone: str = "nova"

    def most(self) -> float:
        """Return the greatest amount of any resource of one host, overcommit included."""
        amounts = zip((self.cores, self.ram, self.disk), self.ratios, strict=True)
        return max(amount * ratio for amount, ratio in amounts)


def read(path: pathlib.Path) -> list[HostKind]:
    """Read an inventory.

    :raises roost.exception.Invalid: naming the file and the position, when something is wrong
    :raises OSError: when the file cannot be read
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise exception.Invalid(f"{path}, line {error.lineno}: no JSON: {error.msg}") from error
    except ValueError as error:
        raise exception.Invalid(f"{path} cannot be read: {error}") from error
    wrong = jsonschema.Draft202012Validator(_SCHEMA)
    for each in wrong.iter_errors(content):
        raise exception.Invalid(f"{path}: {each.json_path.removeprefix('$.')}: {each.message}")
    kinds = [_kind(each, number) for number, each in enumerate(content["hosts"], start=1)]
    if not any(kind.count for kind in kinds):
        raise exception.Invalid(f"{path}: there are no hosts")
    if sum(kind.count * kind.most() for kind in kinds) > MOST_IN_ALL:
        raise exception.Invalid(f"{path}: all hosts together have more than can be counted")
    return kinds


def hosts_of(kinds: Sequence[HostKind]) -> HostColumns:
    """Return these hosts, all empty."""
    each = ((kind, number) for kind in kinds for number in range(1, kind.count + 1))
    return HostColumns([_row(kind, number, row) for row, (kind, number) in enumerate(each, 1)])


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number")


def _kind(values: Mapping[str, Any], number: int) -> HostKind:
    cpu, ram, disk = (float(values.get(name, 1.0)) for name in _RATIOS)
    return HostKind(
        name=values.get("name", f"kind{number}"),
        count=int(values["count"]),
        cores=supply(values["cores"]),
        ram=supply(values["ram"]),
        disk=supply(values.get("disk", 0)),
        ratios=(cpu, ram, disk),
        zone=values.get("zone", "nova"),
    )


def _row(kind: HostKind, number: int, host_id: int) -> HostRow:
    totals = zip(SIZES, (kind.cores, kind.ram, kind.disk), kind.ratios, strict=True)
    classes = {each: (total, 0, 1, MOST_IN_ALL, 1, ratio) for each, total, ratio in totals}
    name = f"{kind.name}-{number}"
    return HostRow(
        id=host_id,
        generation=1,
        described=1,
        host=name,
        node=name,
        cell_uuid=_CELL,
        availability_zone=kind.zone,
        enabled=True,
        told_down=False,
        reported_at=0.0,
        instances=0,
        used={},
        inventories=json.dumps([["", "", None, [], classes]]),
    )
