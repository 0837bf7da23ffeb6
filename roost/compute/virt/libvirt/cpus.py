"""CPUs and memory of a guest: their model and topology, and the node's CPUs and cells for them."""

import dataclasses
import itertools
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Self

from roost.compute.virt.driver import GuestResources
from roost.compute.virt.libvirt.elements import element
from roost.hardware.properties import HardwareProperties
from roost.hardware.rules import shape_of
from roost.objects import InstanceNUMACell

KVM: Final = "kvm"
QEMU: Final = "qemu"
_EMULATED: Final = "qemu64"  # QEMU's default where it emulates a CPU
_KIB_PER_MIB: Final = 1024


@dataclasses.dataclass(frozen=True)
class CpuModel:
    """The CPU model of a guest; ``mode`` is libvirt's term, None: QEMU's default.

    ``model`` is libvirt's name, for the mode ``custom``. ``features`` are additional ones by
    libvirt's names: True requires a feature, False disables it.
    """

    mode: str | None = None
    model: str | None = None
    features: Mapping[str, bool] = dataclasses.field(default_factory=dict)

    def named(self) -> Self:
        """Return a model that may have features: QEMU's default model by its name."""
        if self.mode is not None:
            return self
        return dataclasses.replace(self, mode="custom", model=_EMULATED)

    def with_feature(self, name: str, *, has: bool) -> Self:
        return dataclasses.replace(self, features={**self.features, name: has})

    def element(self, *parts: ET.Element | None) -> ET.Element | None:
        """Return the ``cpu`` element with the given children; None: QEMU's defaults apply."""
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
    """The CPU topology that the guest sees; ``cores`` are per socket, ``threads`` per core."""

    sockets: int
    cores: int
    threads: int

    @classmethod
    def of(cls, properties: HardwareProperties) -> Self | None:
        """Return the topology that flavor and image request; None: neither does.

        :raises roost.exception.Invalid: for impossible numbers, or when no topology fits
        """
        found = shape_of(properties)
        return None if found is None else cls(*found)

    def element(self) -> ET.Element:
        return element("topology", sockets=self.sockets, cores=self.cores, threads=self.threads)


@dataclasses.dataclass(frozen=True)
class Topology:
    """The NUMA cells of a guest, and the cells and CPUs of its node that they have.

    ``floating`` are the shared CPUs of each cell of the node; ``confined``: unpinned CPUs run on no
    others. ``emulator_apart``: QEMU's own threads run on those, not on the guest's pinned CPUs.
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
        resources: GuestResources,
        *,
        floating: Mapping[int, Sequence[int]],
        confined: bool = False,
        emulator_apart: bool = False,
        locked: bool = False,
    ) -> Self:
        requested = resources.numa_topology
        cells = tuple(requested.cells) if requested else ()
        return cls(cells, floating, confined=confined, emulator_apart=emulator_apart, locked=locked)

    def vcpu(self, count: int) -> ET.Element:
        """Return the ``vcpu`` element; CPUs of a guest without cells run on the shared ones."""
        made = element("vcpu", text=count)
        shared = self._shared()
        if self.confined and shared and not self.cells:
            made.set("cpuset", as_set(shared))
        return made

    def seen(self) -> ET.Element | None:
        """Return the NUMA cells that the guest sees."""
        if not self.cells:
            return None
        return element("numa", *[_cell(at, cell) for at, cell in enumerate(self.cells)])

    def pins(self) -> list[ET.Element]:
        """Return the pinning of the guest's CPUs and of QEMU's own threads."""
        found = [*itertools.chain.from_iterable(self._pins(cell) for cell in self.cells)]
        emulator = self._shared() if self.emulator_apart else []
        if any(cell.pinning for cell in self.cells):
            emulator = emulator or [*itertools.chain.from_iterable(map(self._cpus, self.cells))]
            found.append(element("emulatorpin", cpuset=as_set(emulator)))
        return found

    def memory(self) -> ET.Element | None:
        """Return the node's NUMA cells of the guest's memory; None: any."""
        nodes = [at for cell in self.cells if (at := cell.host_cell) is not None]
        if not nodes or len(nodes) != len(self.cells):
            return None
        memory = element("memory", mode="strict", nodeset=as_set(nodes))
        return element("numatune", memory, *map(_memnode, range(len(nodes)), nodes))

    def backing(self) -> ET.Element | None:
        """Return huge pages and locking of the guest's memory; None: ordinary pages."""
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
    """Format numbers as libvirt does: 0,2,3."""
    return ",".join(str(number) for number in sorted({*numbers}))
