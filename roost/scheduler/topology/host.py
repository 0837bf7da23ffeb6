"""NUMA cells, devices and custom resources of a host: free, and those that an instance holds.

``HostTopology`` has the free ones, ``HeldTopology`` those of an instance, with conversions to
versioned objects and to the JSON in claims.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from roost.objects import (
    InstanceNUMACell,
    InstanceNUMATopology,
    NUMACell,
    PciAllocation,
    PciPool,
    ResourceInventory,
)
from roost.scheduler.topology import numa, pci
from roost.scheduler.topology.numa import FreeCell, HeldCell
from roost.scheduler.topology.pci import FreePool, HeldDevices, PoolKey


@dataclasses.dataclass(frozen=True, slots=True)
class HeldTopology:
    """An exact placement; false when it is empty.

    It has plain values, since most placements are only tried; :attr:`numa` and :attr:`pci` make
    versioned objects.
    """

    cells: tuple[HeldCell, ...] = ()
    cpu_policy: str = "shared"
    cpu_thread_policy: str = "prefer"
    devices: tuple[HeldDevices, ...] = ()
    resources: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(
        cls,
        numa: InstanceNUMATopology | None = None,
        pci: Sequence[PciAllocation] = (),
        resources: Mapping[str, int] | None = None,
    ) -> Self:
        """Make the placement that these objects describe."""
        devices = tuple(_devices(allocation) for allocation in pci)
        amounts = tuple((resources or {}).items())
        if numa is None:
            return cls(devices=devices, resources=amounts)
        cells = tuple(_cell({name: getattr(cell, name) for name in _CELL}) for cell in numa.cells)
        return cls(cells, numa.cpu_policy, numa.cpu_thread_policy, devices, amounts)

    def __bool__(self) -> bool:
        return bool(self.cells or self.devices or self.resources)

    @property
    def numa(self) -> InstanceNUMATopology | None:
        """The instance's NUMA topology with its host cells and pinning."""
        if not self.cells:
            return None
        return InstanceNUMATopology.of(
            cells=[InstanceNUMACell.of(**_plain(cell)) for cell in self.cells],
            cpu_policy=self.cpu_policy,
            cpu_thread_policy=self.cpu_thread_policy,
        )

    @property
    def pci(self) -> tuple[PciAllocation, ...]:
        """The devices, by pool."""
        return tuple(PciAllocation.of(**_named(devices)) for devices in self.devices)

    def to_json(self) -> str:
        """Return the JSON that the claim stores."""
        said: dict[str, Any] = {}
        if self.cells:
            said["numa"] = {
                "cpu_policy": self.cpu_policy,
                "cpu_thread_policy": self.cpu_thread_policy,
                "cells": [cell._asdict() for cell in self.cells],
            }
        if self.devices:
            said["pci"] = [_named(devices) for devices in self.devices]
        if self.resources:
            said["resources"] = dict(self.resources)
        return json.dumps(said, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the JSON of :meth:`to_json`."""
        said = json.loads(text)
        devices = tuple(
            HeldDevices(one["alias"], one["count"], _kind(one)) for one in said.get("pci", ())
        )
        resources = tuple(said.get("resources", {}).items())
        numa = said.get("numa")
        if numa is None:
            return cls(devices=devices, resources=resources)
        cells = tuple(map(_cell, numa["cells"]))
        return cls(cells, numa["cpu_policy"], numa["cpu_thread_policy"], devices, resources)


_CELL = HeldCell._fields


def _cell(values: dict[str, Any]) -> HeldCell:
    given = (values[name] for name in _CELL)
    return HeldCell._make(tuple(one) if isinstance(one, list) else one for one in given)


def _plain(cell: HeldCell) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in cell._asdict().items()
    }


def _devices(allocation: PciAllocation) -> HeldDevices:
    kind = _kind({name: getattr(allocation, name) for name in PoolKey._fields})
    return HeldDevices(allocation.alias, allocation.count, kind)


def _kind(said: dict[str, Any]) -> PoolKey:
    return PoolKey(
        vendor_id=said["vendor_id"],
        product_id=said["product_id"],
        dev_type=said["dev_type"],
        numa_node=said["numa_node"],
        tags=tuple(sorted(said["tags"].items())),
    )


def _named(devices: HeldDevices) -> dict[str, Any]:
    kind = devices.kind
    return {
        "alias": devices.alias,
        "count": devices.number,
        **kind._asdict(),
        "tags": dict(kind.tags),
    }


class Stock(NamedTuple):
    """What is free of a resource class; one instance gets from ``least`` to ``most``, in steps."""

    free: int
    least: int
    most: int
    step: int

    def allows(self, amount: int) -> bool:
        """Return whether one instance may have so much, if it is free."""
        return self.least <= amount <= self.most and amount % self.step == 0


@dataclasses.dataclass(frozen=True, slots=True)
class HostTopology:
    """The free part of a host: not to be changed, so that trials have no effect on it."""

    cells: tuple[FreeCell, ...]
    pools: tuple[FreePool, ...]
    stocks: Mapping[str, Stock] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls,
        cells: Sequence[NUMACell],
        pools: Sequence[PciPool],
        inventories: Iterable[ResourceInventory] = (),
    ) -> Self:
        """Return the topology of a host with everything free."""
        stocks = {
            one.resource_class: Stock(one.capacity, one.min_unit, one.max_unit, one.step_size)
            for one in inventories
        }
        return cls(tuple(map(FreeCell.of, cells)), pci.pools_of(pools), stocks)

    @property
    def has_pci(self) -> bool:
        """Whether there are devices, in use or not."""
        return bool(self.pools)

    def taking(self, held: HeldTopology) -> Self:
        """Return the topology with this taken.

        Parts that the host does not have (any more) are ignored; amounts may become negative.
        """
        return self._changed(held, numa.take, sign=-1)

    def giving_back(self, held: HeldTopology) -> Self:
        """Return the topology with this given back."""
        return self._changed(held, numa.give_back, sign=1)

    def _changed(self, held: HeldTopology, change: Callable[..., FreeCell], *, sign: int) -> Self:
        if not held:
            return self
        cells = {cell.id: cell for cell in self.cells}
        for part in held.cells:
            if part.host_cell in cells:
                cell = cells[part.host_cell]
                cells[cell.id] = change(cell, part, threads=held.cpu_thread_policy)
        stocks = dict(self.stocks)
        for name, amount in held.resources:
            if name in stocks:
                stocks[name] = stocks[name]._replace(free=stocks[name].free + sign * amount)
        pools = pci.recount(self.pools, held.devices, sign=sign)
        return type(self)(tuple(cells.values()), pools, stocks)
