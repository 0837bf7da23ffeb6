"""NUMA cells, devices and providers of a host: free, and those that an instance holds.

``HostTopology`` has the free ones, ``HeldTopology`` the cells and devices of an instance, with
conversions to versioned objects and to the JSON in claims.
"""

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any, Self

from roost.hardware import providers
from roost.hardware.providers import FreeProvider
from roost.objects import (
    InstanceNUMACell,
    InstanceNUMATopology,
    NUMACell,
    PciAllocation,
    PciPool,
)
from roost.objects.allocations import NOTHING, Allocations
from roost.scheduler.topology import numa, pci
from roost.scheduler.topology.numa import FreeCell, HeldCell
from roost.scheduler.topology.pci import FreePool, HeldDevices, PoolKey


@dataclasses.dataclass(frozen=True, slots=True)
class HeldTopology:
    """The NUMA cells and devices that an instance has of a host; false when there are none.

    It has plain values, since most allocations are only tried; :attr:`numa` and :attr:`pci` make
    versioned objects.
    """

    cells: tuple[HeldCell, ...] = ()
    cpu_policy: str = "shared"
    cpu_thread_policy: str = "prefer"
    devices: tuple[HeldDevices, ...] = ()

    @classmethod
    def of(
        cls,
        numa: InstanceNUMATopology | None = None,
        pci: Sequence[PciAllocation] = (),
    ) -> Self:
        """Make the allocation that these objects describe."""
        devices = tuple(_devices(allocation) for allocation in pci)
        if numa is None:
            return cls(devices=devices)
        cells = tuple(_cell({name: getattr(cell, name) for name in _CELL}) for cell in numa.cells)
        return cls(cells, numa.cpu_policy, numa.cpu_thread_policy, devices)

    def __bool__(self) -> bool:
        return bool(self.cells or self.devices)

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
        return json.dumps(said, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the JSON of :meth:`to_json`."""
        said = json.loads(text)
        devices = tuple(
            HeldDevices(one["alias"], one["count"], _kind(one)) for one in said.get("pci", ())
        )
        numa = said.get("numa")
        if numa is None:
            return cls(devices=devices)
        cells = tuple(map(_cell, numa["cells"]))
        return cls(cells, numa["cpu_policy"], numa["cpu_thread_policy"], devices)


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


@dataclasses.dataclass(frozen=True, slots=True)
class HostTopology:
    """The free part of a host: not to be changed, so that trials have no effect on it.

    The ``providers`` are parts of the host, without the host as a whole.
    """

    cells: tuple[FreeCell, ...]
    pools: tuple[FreePool, ...]
    providers: tuple[FreeProvider, ...] = ()

    @classmethod
    def of(
        cls,
        cells: Sequence[NUMACell],
        pools: Sequence[PciPool],
    ) -> Self:
        """Return the topology of a host with everything free."""
        return cls(tuple(map(FreeCell.of, cells)), pci.pools_of(pools))

    @property
    def has_pci(self) -> bool:
        """Whether there are devices, in use or not."""
        return bool(self.pools)

    def taking(self, held: HeldTopology | None, allocations: Allocations = NOTHING) -> Self:
        """Return the topology with this taken.

        Parts that the host does not have (any more) are ignored; amounts may become negative.
        """
        return self._changed(held, allocations, numa.take, sign=-1)

    def giving_back(self, held: HeldTopology | None, allocations: Allocations = NOTHING) -> Self:
        """Return the topology with this given back."""
        return self._changed(held, allocations, numa.give_back, sign=1)

    def _changed(
        self,
        held: HeldTopology | None,
        allocations: Allocations,
        change: Callable[..., FreeCell],
        *,
        sign: int,
    ) -> Self:
        free = providers.recount(self.providers, allocations, sign=sign)
        if not held:
            return self if free is self.providers else dataclasses.replace(self, providers=free)
        cells = {cell.id: cell for cell in self.cells}
        for part in held.cells:
            if part.host_cell in cells:
                cell = cells[part.host_cell]
                cells[cell.id] = change(cell, part, threads=held.cpu_thread_policy)
        pools = pci.recount(self.pools, held.devices, sign=sign)
        return type(self)(tuple(cells.values()), pools, free)
