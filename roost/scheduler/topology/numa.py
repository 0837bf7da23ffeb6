"""One NUMA cell of a host: its free part, and how a cell of an instance fits it.

Sets of CPUs are bit masks: bit n is CPU n.
"""

import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Self

from roost.objects import NUMACell
from roost.objects.bounds import CPUS

ORDINARY: Final = 0  # the page size of memory without huge pages
_ORDINARY_NAMES: Final = (None, "small", "4")
_REQUIRE: Final = "require"
ISOLATE: Final = "isolate"
_TOO_FEW_CPUS: Final = {
    "prefer": "too few dedicated CPUs in one NUMA cell",
    ISOLATE: "too few unused cores in one NUMA cell",
    _REQUIRE: "too few unused cores with thread siblings in one NUMA cell",
}


class PinnableCpus(NamedTuple):
    """The dedicated CPUs of a cell, which do not change with its instances.

    ``cores`` has those of each core, ``groups`` only cores with several of them. ``private`` are
    the cores that have no shared CPU, those with the fewest threads first.
    """

    dedicated: int
    cores: tuple[int, ...]
    groups: tuple[int, ...]
    private: tuple[int, ...]


class FreeCell(NamedTuple):
    """The free part of a host's cell.

    ``shared`` is the number of shared CPUs, ``free`` the set of free dedicated ones; ``memory_mb``
    is memory without huge pages; ``pages`` are huge pages as (size in KiB, number), the largest
    first. A cell whose ``socket`` is not known gets a negative one of its own.
    """

    id: int
    socket: int
    shared: int
    layout: PinnableCpus
    free: int
    memory_mb: int
    pages: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, cell: NUMACell) -> Self:
        """Return a cell with everything free."""
        pages = {int(size): count for size, count in cell.page_counts.items()}
        if min(pages, default=1) < 1:
            raise ValueError("the size of a page is at least 1 KiB")
        huge = sum(size * count for size, count in pages.items()) // 1024
        return cls(
            id=cell.id,
            socket=-1 - cell.id if cell.socket is None else cell.socket,
            shared=len(cell.cpus),
            layout=_layout(cell),
            free=mask(cell.pcpus),
            memory_mb=cell.memory_mb - huge,
            pages=tuple(sorted(pages.items(), reverse=True)),
        )


class WantedCell(NamedTuple):
    """A requested cell of an instance; ``threads`` is the CPU thread policy."""

    id: int
    cpus: tuple[int, ...]
    pcpus: tuple[int, ...]
    memory_mb: int
    page_size: str | None
    threads: str


class HeldCell(NamedTuple):
    """A cell of an instance with its host cell: an InstanceNUMACell as a plain value."""

    id: int
    cpus: tuple[int, ...]
    pcpus: tuple[int, ...]
    memory_mb: int
    page_size: str | None
    host_cell: int
    pinning: tuple[int, ...]
    page_kb: int | None


class CellMiss(NamedTuple):
    """Why a cell does not fit; the one with the highest ``stage`` is the nearest miss."""

    stage: int
    reason: str


def find_miss(wanted: WantedCell, cell: FreeCell) -> CellMiss | None:
    """Return what the instance's cell lacks in this host cell, or None when it fits.

    Many instances may have the same shared CPUs, but one instance does not get more of them than
    there are.
    """
    if len(wanted.cpus) > cell.shared:
        return CellMiss(0, "too few shared CPUs in one NUMA cell")
    if wanted.pcpus and _pinnable(cell, wanted.threads) < len(wanted.pcpus):
        return CellMiss(1, _TOO_FEW_CPUS[wanted.threads])
    if _page_for(wanted, cell) is None:
        return CellMiss(2, f"not enough {_memory_name(wanted.page_size)} in one NUMA cell")
    return None


def allocate(wanted: WantedCell, cell: FreeCell) -> HeldCell:
    """Allocate the instance's cell on a host cell where it fits."""
    return HeldCell(
        id=wanted.id,
        cpus=wanted.cpus,
        pcpus=wanted.pcpus,
        memory_mb=wanted.memory_mb,
        page_size=wanted.page_size,
        host_cell=cell.id,
        pinning=tuple(_pin(len(wanted.pcpus), cell, wanted.threads)) if wanted.pcpus else (),
        page_kb=_page_for(wanted, cell) or None,
    )


def take(cell: FreeCell, held: HeldCell, *, threads: str) -> FreeCell:
    """Return the host cell with this taken."""
    return _counted(cell, held, -1)._replace(free=cell.free & ~_occupied(cell, held, threads))


def give_back(cell: FreeCell, held: HeldCell, *, threads: str) -> FreeCell:
    """Return the host cell with this given back."""
    return _counted(cell, held, 1)._replace(free=cell.free | _occupied(cell, held, threads))


def mask(cpus: Iterable[int]) -> int:
    """Return the set of these CPUs.

    :raises ValueError: when one has a number that no CPU has
    """
    found = 0
    for cpu in cpus:
        if cpu >= CPUS:
            raise ValueError(f"CPUs have numbers below {CPUS}")
        found |= 1 << cpu
    return found


def members(cpus: int) -> Iterator[int]:
    """Yield the CPUs of a set, the lowest first."""
    while cpus:
        lowest = cpus & -cpus
        yield lowest.bit_length() - 1
        cpus ^= lowest


def _layout(cell: NUMACell) -> PinnableCpus:
    shared, dedicated = mask(cell.cpus), mask(cell.pcpus)
    threads = [mask(core) for core in cell.siblings]
    alone = dedicated & ~functools.reduce(int.__or__, threads, 0)
    threads = sorted(threads + [1 << cpu for cpu in members(alone)], key=lambda core: core & -core)
    threads = [core for core in threads if core & dedicated]
    cores = tuple(core & dedicated for core in threads)
    private = [core & dedicated for core in threads if not core & shared]
    return PinnableCpus(
        dedicated=dedicated,
        cores=cores,
        groups=tuple(core for core in cores if core.bit_count() > 1),
        private=tuple(sorted(private, key=int.bit_count)),
    )


def _pinnable(cell: FreeCell, threads: str) -> int:
    """Return the number of CPUs that can be pinned."""
    free, layout = cell.free, cell.layout
    if threads == ISOLATE:
        return sum(core & free == core for core in layout.private)
    if threads == _REQUIRE:
        return sum(core.bit_count() for core in layout.groups if core & free == core)
    return free.bit_count()


def _pin(count: int, cell: FreeCell, threads: str) -> Iterator[int]:
    """Choose CPUs; thread siblings follow each other."""
    free, layout = cell.free, cell.layout
    if threads == ISOLATE:
        unused = [core for core in layout.private if core & free == core]
        return (next(members(core)) for core in unused[:count])
    if threads == _REQUIRE:
        return _fill(count, [core for core in layout.groups if core & free == core])
    return _fill(count, [core & free for core in layout.cores if core & free])


def _fill(count: int, cores: list[int]) -> Iterator[int]:
    """Take whole cores, and the rest from the smallest one, to split few cores."""
    left = []
    for core in sorted(cores, key=int.bit_count, reverse=True):
        if core.bit_count() <= count:
            count -= core.bit_count()
            yield from members(core)
        else:
            left.append(core)
    if count:
        yield from itertools.islice(members(min(left, key=int.bit_count)), count)


def _page_for(wanted: WantedCell, cell: FreeCell) -> int | None:
    """Return the size in KiB of the pages to use, the largest that fits, or None."""
    asked = wanted.page_size
    if asked not in _ORDINARY_NAMES:
        for size, free in cell.pages:
            if asked in ("large", "any", str(size)):
                count, rest = divmod(wanted.memory_mb * 1024, size)
                if not rest and count <= free:
                    return size
        if asked != "any":
            return None
    return ORDINARY if wanted.memory_mb <= cell.memory_mb else None


def _memory_name(page_size: str | None) -> str:
    if page_size in _ORDINARY_NAMES or page_size == "any":
        return "memory"
    if page_size == "large":
        return "huge pages"
    size, units = int(str(page_size)), ["KiB", "MiB", "GiB", "TiB"]
    while size % 1024 == 0 and len(units) > 1:
        size //= 1024
        del units[0]
    return f"{size} {units[0]} pages"


def _occupied(cell: FreeCell, held: HeldCell, threads: str) -> int:
    """Return the occupied dedicated CPUs: those pinned, with ``isolate`` all of their cores."""
    pinned = mask(held.pinning) & cell.layout.dedicated
    if threads != ISOLATE or not pinned:
        return pinned
    cores = (core for core in cell.layout.cores if core & pinned)
    return functools.reduce(int.__or__, cores)


def _counted(cell: FreeCell, held: HeldCell, sign: int) -> FreeCell:
    if held.page_kb is None:
        return cell._replace(memory_mb=cell.memory_mb + sign * held.memory_mb)
    count = sign * (held.memory_mb * 1024 // held.page_kb)
    pages = tuple(
        (size, free + count if size == held.page_kb else free) for size, free in cell.pages
    )
    return cell._replace(pages=pages)
