"""What of a host's NUMA cells and devices is free, as instances come and go."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Self

from roost.objects import NUMACell, PciPool
from roost.scheduler.topology import numa, pci
from roost.scheduler.topology.held import Held
from roost.scheduler.topology.numa import FreeCell
from roost.scheduler.topology.pci import FreePool


@dataclasses.dataclass(frozen=True, slots=True)
class HostTopology:
    """The free part of a host: a value, so that what is tried harms nobody."""

    cells: tuple[FreeCell, ...]
    pools: tuple[FreePool, ...]

    @classmethod
    def of(cls, cells: Sequence[NUMACell], pools: Sequence[PciPool]) -> Self:
        """Return all that the host has, none of it in use."""
        return cls(tuple(map(FreeCell.of, cells)), pci.pools_of(pools))

    @property
    def has_pci(self) -> bool:
        """Whether there are devices, in use or not."""
        return bool(self.pools)

    def taking(self, held: Held) -> Self:
        """Return what is left when this is taken.

        What the host does not have (any more) is left out, and what it has too little of is owed.
        """
        return self._changed(held, numa.take, sign=-1)

    def giving_back(self, held: Held) -> Self:
        """Return what was free before this was taken."""
        return self._changed(held, numa.give_back, sign=1)

    def _changed(self, held: Held, change: Callable[..., FreeCell], *, sign: int) -> Self:
        if not held:
            return self
        cells = {cell.id: cell for cell in self.cells}
        for part in held.cells:
            if part.host_cell in cells:
                cell = cells[part.host_cell]
                cells[cell.id] = change(cell, part, threads=held.cpu_thread_policy)
        return type(self)(tuple(cells.values()), pci.recount(self.pools, held.devices, sign=sign))
