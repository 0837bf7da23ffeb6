"""CPUs and memory of a guest: what it sees, and where on its node it gets them."""

import dataclasses
import itertools
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Self

from roost.compute.virt.driver import GuestPlacement
from roost.compute.virt.libvirt.elements import element
from roost.hardware.properties import HardwareProperties
from roost.hardware.rules import shape_of
from roost.objects import InstanceNUMACell

KVM: Final = "kvm"
QEMU: Final = "qemu"
_EMULATED: Final = "qemu64"  # what QEMU gives by itself where it emulates a CPU
_KIB_PER_MIB: Final = 1024


@dataclasses.dataclass(frozen=True)
class CpuModel:
    """Which CPU a guest sees; ``mode`` is libvirt's word, None: whatever QEMU gives by itself.

    ``model`` is a name that libvirt knows, for the mode ``custom``. ``features`` are those that it
    has beside, by libvirt's names, and whether it has them or must not.
    """

    mode: str | None = None
    model: str | None = None
    features: Mapping[str, bool] = dataclasses.field(default_factory=dict)

    def named(self) -> Self:
        """Return it as one of which something may be said: by its name, if it has none."""
        if self.mode is not None:
            return self
        return dataclasses.replace(self, mode="custom", model=_EMULATED)

    def with_feature(self, name: str, *, has: bool) -> Self:
        return dataclasses.replace(self, features={**self.features, name: has})

    def element(self, *parts: ET.Element | None) -> ET.Element | None:
        """Return it with its shape and the NUMA cells seen on it; None: nothing is to be said."""
        if self.mode is None and not any(part is not None for part in parts):
            return None
        model = None if self.model is None else element("model", text=self.model, fallback="forbid")
        features = [
            element("feature", policy="require" if has else "disable", name=name)
            for name, has in self.features.items()
        ]
        made = element("cpu", model, *parts, *features)
        if self.mode is not None:
            made.set("mode", self.mode)
        return made


@dataclasses.dataclass(frozen=True)
class CpuTopology:
    """How a guest's CPUs are seen: so many sockets, of so many cores, of so many threads."""

    sockets: int
    cores: int
    threads: int

    @classmethod
    def of(cls, words: HardwareProperties) -> Self | None:
        """Return the shape that flavor and image ask for; None: nobody asks.

        :raises roost.exception.Invalid: for numbers that cannot be, or come to none
        """
        found = shape_of(words)
        return None if found is None else cls(*found)

    def element(self) -> ET.Element:
        return element("topology", sockets=self.sockets, cores=self.cores, threads=self.threads)


@dataclasses.dataclass(frozen=True)
class Topology:
    """The NUMA cells of a guest, those of its node, and the CPUs that they stand for.

    ``floating`` are the CPUs of each cell of the node that guests share; ``confined``: they share
    no others. ``emulator_apart``: QEMU's own threads are to run on those, not on the guest's.
    ``locked``: none of its memory is ever swapped out.
    """

    cells: Sequence[InstanceNUMACell] = ()
    floating: Mapping[int, Sequence[int]] = dataclasses.field(default_factory=dict)
    confined: bool = False
    emulator_apart: bool = False
    locked: bool = False

    @classmethod
    def of(
        cls,
        placement: GuestPlacement,
        *,
        floating: Mapping[int, Sequence[int]],
        confined: bool = False,
        emulator_apart: bool = False,
        locked: bool = False,
    ) -> Self:
        asked = placement.numa_topology
        cells = tuple(asked.cells) if asked else ()
        return cls(cells, floating, confined=confined, emulator_apart=emulator_apart, locked=locked)

    def vcpu(self, count: int) -> ET.Element:
        """Return how many CPUs there are; those of a guest without cells run on what is shared."""
        made = element("vcpu", text=count)
        shared = self._shared()
        if self.confined and shared and not self.cells:
            made.set("cpuset", as_set(shared))
        return made

    def seen(self) -> ET.Element | None:
        """Return the cells that the guest sees."""
        if not self.cells:
            return None
        return element("numa", *[_cell(at, cell) for at, cell in enumerate(self.cells)])

    def pins(self) -> list[ET.Element]:
        """Return where the CPUs of the guest are on its node, and QEMU's own threads."""
        found = [*itertools.chain.from_iterable(self._pins(cell) for cell in self.cells)]
        emulator = self._shared() if self.emulator_apart else []
        if any(cell.pinning for cell in self.cells):
            emulator = emulator or [*itertools.chain.from_iterable(map(self._cpus, self.cells))]
            found.append(element("emulatorpin", cpuset=as_set(emulator)))
        return found

    def memory(self) -> ET.Element | None:
        """Return where the memory of the guest is on its node; None: anywhere."""
        nodes = [at for cell in self.cells if (at := cell.host_cell) is not None]
        if not nodes or len(nodes) != len(self.cells):
            return None
        memory = element("memory", mode="strict", nodeset=as_set(nodes))
        return element("numatune", memory, *map(_memnode, range(len(nodes)), nodes))

    def backing(self) -> ET.Element | None:
        """Return what the guest's memory is made of; None: ordinary pages."""
        pages = [
            element("page", size=cell.page_kb, unit="KiB", nodeset=at)
            for at, cell in enumerate(self.cells)
            if cell.page_kb is not None
        ]
        huge = element("hugepages", *pages) if pages else None
        locked = element("locked") if self.locked else None
        if huge is None and locked is None:
            return None
        return element("memoryBacking", huge, locked)

    def _pins(self, cell: InstanceNUMACell) -> Iterable[ET.Element]:
        for cpu, own in zip(cell.pcpus, cell.pinning, strict=False):
            yield element("vcpupin", vcpu=cpu, cpuset=own)
        shared = self._floats_over(cell)
        if shared:
            for cpu in cell.cpus:
                yield element("vcpupin", vcpu=cpu, cpuset=as_set(shared))

    def _cpus(self, cell: InstanceNUMACell) -> Iterable[int]:
        return [*cell.pinning, *(self._floats_over(cell) if cell.cpus else ())]

    def _floats_over(self, cell: InstanceNUMACell) -> Sequence[int]:
        return () if cell.host_cell is None else self.floating.get(cell.host_cell, ())

    def _shared(self) -> list[int]:
        return [*itertools.chain.from_iterable(self.floating.values())]


def _cell(at: int, cell: InstanceNUMACell) -> ET.Element:
    cpus = as_set([*cell.cpus, *cell.pcpus])
    return element("cell", id=at, cpus=cpus, memory=cell.memory_mb * _KIB_PER_MIB, unit="KiB")


def _memnode(at: int, node: int) -> ET.Element:
    return element("memnode", cellid=at, mode="strict", nodeset=node)


def as_set(numbers: Iterable[int]) -> str:
    """Write numbers as libvirt does: 0,2,3."""
    return ",".join(str(number) for number in sorted({*numbers}))
