"""CPUs and memory of a guest: what it sees, and where on its node it gets them."""

import dataclasses
import itertools
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Self

from roost import exception
from roost.compute.virt.driver import Placement
from roost.compute.virt.libvirt.elements import element
from roost.objects import InstanceNUMACell
from roost.objects.hardware_values import counted
from roost.objects.hardware_words import HardwareWords

KVM: Final = "kvm"
QEMU: Final = "qemu"
_EMULATED: Final = "qemu64"  # what QEMU gives by itself where it emulates a CPU
_KIB_PER_MIB: Final = 1024
_LEVELS: Final = ("sockets", "cores", "threads")


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
class Shape:
    """How a guest's CPUs are seen: so many sockets, of so many cores, of so many threads."""

    sockets: int
    cores: int
    threads: int

    @classmethod
    def of(cls, words: HardwareWords, vcpus: int) -> Self | None:
        """Return the shape that comes nearest to what is asked for; None: nobody asks.

        An image's wishes count before those of its flavor, within what the flavor allows at most.

        :raises roost.exception.Invalid: for numbers that cannot be, or come to none
        """
        wishes = _wishes(words, "image") or _wishes(words, "flavor")
        most = _limits(words)
        if not wishes and not most:
            return None
        fitting = [shape for shape in _shapes(vcpus) if _is_within(shape, most)]
        if not fitting:
            limits = ", ".join(f"hw:cpu_max_{name}={limit}" for name, limit in most.items())
            raise exception.Invalid(f"{vcpus} CPUs cannot be had with {limits}.")
        return cls(*max(fitting, key=lambda shape: _nearness(shape, wishes)))

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
        placement: Placement,
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


def _wishes(words: HardwareWords, who: str) -> dict[str, int]:
    """Return the shape that somebody would like, as far as he says."""
    return _numbers(words, who, "cpu_")


def _limits(words: HardwareWords) -> dict[str, int]:
    """Return the most of each that may be; what an image says must be within its flavor's."""
    flavor, image = _numbers(words, "flavor", "cpu_max_"), _numbers(words, "image", "cpu_max_")
    _check_within("hw_cpu_max_", image, flavor)
    limits = flavor | image
    _check_within("hw_cpu_", _wishes(words, "image"), limits)
    return limits


def _check_within(prefix: str, asked: Mapping[str, int], most: Mapping[str, int]) -> None:
    for name, many in asked.items():
        if many > most.get(name, many):
            limit = most[name]
            raise exception.Invalid(f"{prefix}{name} is '{many}', but may be {limit} at most.")


def _numbers(words: HardwareWords, who: str, prefix: str) -> dict[str, int]:
    start = "hw:" if who == "flavor" else "hw_"
    said = {name: counted(words, f"{start}{prefix}{name}") for name in _LEVELS}
    return {name: many for name, many in said.items() if many is not None}


def _shapes(vcpus: int) -> Iterator[tuple[int, int, int]]:
    """Yield all, those of most sockets and then cores first."""
    for threads in range(1, vcpus + 1):
        for cores in range(1, vcpus // threads + 1):
            if vcpus % (threads * cores) == 0:
                yield vcpus // (threads * cores), cores, threads


def _is_within(shape: tuple[int, ...], most: Mapping[str, int]) -> bool:
    return all(many <= most.get(name, many) for name, many in zip(_LEVELS, shape, strict=True))


def _nearness(shape: tuple[int, ...], wishes: Mapping[str, int]) -> int:
    """Count the wishes that are met."""
    return sum(wishes.get(name) == many for name, many in zip(_LEVELS, shape, strict=True))


def _cell(at: int, cell: InstanceNUMACell) -> ET.Element:
    cpus = as_set([*cell.cpus, *cell.pcpus])
    return element("cell", id=at, cpus=cpus, memory=cell.memory_mb * _KIB_PER_MIB, unit="KiB")


def _memnode(at: int, node: int) -> ET.Element:
    return element("memnode", cellid=at, mode="strict", nodeset=node)


def as_set(numbers: Iterable[int]) -> str:
    """Write numbers as libvirt does: 0,2,3."""
    return ",".join(str(number) for number in sorted({*numbers}))
