"""Finds an exact allocation of a host's NUMA cells and devices to an instance.

Pure and deterministic. It tries the sets of host cells whose devices can suffice for the instance,
small sets first.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from roost.objects import InstanceNUMATopology, PciRequest
from roost.scheduler.topology import numa as cells_of
from roost.scheduler.topology import pci as devices_of
from roost.scheduler.topology.host import HeldTopology, HostTopology
from roost.scheduler.topology.numa import CellMiss, FreeCell, WantedCell
from roost.scheduler.topology.pci import DeviceRequest, FreePool, HeldDevices, Lack, Near


def near_cells(cells: Sequence[FreeCell], chosen: Sequence[int], *, strict: bool) -> Near:
    """Return what is near an instance on the chosen ones (by index) of a host's cells.

    :param strict: treat *preferred* as *required*
    """
    own = frozenset(cells[place].id for place in chosen)
    sockets = {cells[place].socket for place in chosen}
    return Near(
        own,
        {
            "required": own,
            "preferred": own if strict else None,
            "legacy": own | {None},
            "socket": frozenset(cell.id for cell in cells if cell.socket in sockets),
        },
    )


def needed(
    requests: Sequence[DeviceRequest],
    pools: Sequence[FreePool],
    cells: Sequence[FreeCell],
    *,
    open_to: Sequence[int],
    most: int,
    strict: bool,
) -> Iterator[tuple[int, ...]]:
    """Yield the sets of cells that may have all the devices, small ones first.

    They are subsets of ``open_to`` with at most ``most`` cells. Sets are left out when the devices
    for any one request, counted alone, are too few there; the devices of a remaining set may still
    not suffice for all requests together.
    """
    nowhere = near_cells(cells, [], strict=strict)
    bare = _numbers(requests, pools, nowhere)
    gains = {}
    for place in open_to:
        numbers = _numbers(requests, pools, near_cells(cells, [place], strict=strict))
        gains[place] = [with_it - without for with_it, without in zip(numbers, bare, strict=True)]
    missing = [request.number - number for request, number in zip(requests, bare, strict=True)]
    useful = sorted(
        (place for place in open_to if any(gains[place])), key=lambda place: -sum(gains[place])
    )
    for size in range(_fewest(missing, list(gains.values())), min(len(useful), most) + 1):
        for places in itertools.combinations(useful, size):
            if all(sum(gains[p][i] for p in places) >= lack for i, lack in enumerate(missing)):
                yield places


def _numbers(
    requests: Sequence[DeviceRequest], pools: Sequence[FreePool], there: Near
) -> list[int]:
    """Return the number of devices for each request, as if it were the only one."""
    return [
        sum(
            pools[place].free
            for place in request.pools
            if there.allows(request.policy, pools[place].kind.numa_node)
        )
        for request in requests
    ]


def _fewest(missing: Sequence[int], gains: Sequence[Sequence[int]]) -> int:
    """Return the least number of cells needed; the number of cells + 1 when all do not suffice."""
    fewest = 0
    for device_request, lack in enumerate(missing):
        best = sorted((gain[device_request] for gain in gains), reverse=True)
        sums = itertools.accumulate(best, initial=0)
        fewest = max(
            fewest, next((size for size, total in enumerate(sums) if total >= lack), len(best) + 1)
        )
    return fewest


_NOTHING: Final = HeldTopology()
_EMPTY: Final = HostTopology((), ())
_NO_DEVICE: Final = "no device for alias {}"
Choices = Sequence[Sequence[int]]
"""Per cell of the instance the indices of the host's cells where it fits, the best first."""


def fit(
    numa: InstanceNUMATopology | None,
    pci: Sequence[PciRequest],
    topology: HostTopology | None,
) -> HeldTopology | str:
    """Return what the instance would hold of the host, or, for users, why it does not fit.

    Every cell of the instance gets a host cell of its own. A fit is found if one exists. Host
    cells with free devices are used last; of the others those with the fewest free dedicated CPUs
    are filled first (for instances without dedicated CPUs, those with the most free memory).
    """
    if numa is None:
        return _without_cells(pci, topology or _EMPTY) if pci else _NOTHING
    if topology is None or not topology.cells:
        return "no NUMA cells"
    wanted = _wanted(numa)
    choices = _choices(wanted, topology)
    if isinstance(choices, CellMiss):
        return choices.reason
    places = _assign(choices)
    if places is None:
        return "too few NUMA cells that would do"
    devices: tuple[HeldDevices, ...] = ()
    if pci:
        requests = devices_of.device_requests_of(pci, topology.pools)
        found = _with_devices(choices, requests, topology)
        if found is None:
            return _lacking(requests, topology, places)
        places, devices = found
    return HeldTopology(
        tuple(map(cells_of.allocate, wanted, (topology.cells[place] for place in places))),
        numa.cpu_policy,
        numa.cpu_thread_policy,
        devices,
    )


def _without_cells(pci: Sequence[PciRequest], topology: HostTopology) -> HeldTopology | str:
    pools = topology.pools
    found = devices_of.hand_out(devices_of.device_requests_of(pci, pools), pools, None)
    return (
        _NO_DEVICE.format(found.alias) if isinstance(found, Lack) else HeldTopology(devices=found)
    )


def _wanted(numa: InstanceNUMATopology) -> list[WantedCell]:
    threads = numa.cpu_thread_policy
    return [
        WantedCell(
            cell.id, tuple(cell.cpus), tuple(cell.pcpus), cell.memory_mb, cell.page_size, threads
        )
        for cell in numa.cells
    ]


def _choices(wanted: Sequence[WantedCell], topology: HostTopology) -> Choices | CellMiss:
    """Return where each cell of the instance fits, or the nearest miss of one that does not fit."""
    places = _by_liking(topology, pinned=any(cell.pcpus for cell in wanted))
    choices = []
    for cell in wanted:
        misses = [cells_of.find_miss(cell, topology.cells[place]) for place in places]
        fitting = [place for place, miss in zip(places, misses, strict=True) if miss is None]
        if not fitting:
            return max((miss for miss in misses if miss), key=lambda miss: miss.stage)
        choices.append(fitting)
    return choices


def _by_liking(topology: HostTopology, *, pinned: bool) -> list[int]:
    busy = {pool.kind.numa_node for pool in topology.pools if pool.free > 0}

    def liking(place: int) -> tuple[bool, int, int]:
        cell: FreeCell = topology.cells[place]
        room = cell.free.bit_count() if pinned else -cell.memory_mb
        return cell.id in busy, room, place

    return sorted(range(len(topology.cells)), key=liking)


def _with_devices(
    choices: Choices, requests: Sequence[DeviceRequest], topology: HostTopology
) -> tuple[list[int], tuple[HeldDevices, ...]] | None:
    """Choose host cells whose near devices suffice; None when there are none.

    First with *preferred* as *required*. More cells with devices never lack devices, but the
    instance's cells may not fit on them: so small sets are tried first.
    """
    cells, pools = topology.cells, topology.pools
    open_to = sorted({place for fitting in choices for place in fitting})
    preferring = any(request.policy == "preferred" for request in requests)
    for strict in (True, False) if preferring else (False,):
        for chosen in needed(
            requests, pools, cells, open_to=open_to, most=len(choices), strict=strict
        ):
            here = near_cells(cells, chosen, strict=strict)
            if isinstance(devices_of.hand_out(requests, pools, here), Lack):
                continue
            places = _assign(choices, using=chosen)
            if places is not None:
                there = near_cells(cells, places, strict=strict)
                devices = devices_of.hand_out(requests, pools, there)
                if not isinstance(devices, Lack):
                    return places, devices
    return None


def _lacking(
    requests: Sequence[DeviceRequest], topology: HostTopology, places: Sequence[int]
) -> str:
    """Return which devices are missing: on the whole host, or only near the cells that fit."""
    lack = devices_of.hand_out(requests, topology.pools, None)
    if isinstance(lack, Lack):
        return _NO_DEVICE.format(lack.alias)
    near = near_cells(topology.cells, places, strict=False)
    lack = devices_of.hand_out(requests, topology.pools, near)
    alias = lack.alias if isinstance(lack, Lack) else requests[0].alias
    return _NO_DEVICE.format(alias) + " in the right NUMA cell"


def _assign(choices: Choices, *, using: Sequence[int] = ()) -> list[int] | None:
    """Give each cell of the instance a host cell of its own; None when that is impossible.

    All of ``using`` are among the assigned host cells. First each of them gets a cell of the
    instance, then each remaining cell a host cell, by augmenting paths of bipartite matching, which
    never leave a matched cell unmatched.
    """
    given: dict[int, int] = {}  # cell of the instance -> host cell
    takers: dict[int, int] = {}  # host cell -> cell of the instance
    if using:
        wanting = {
            place: [cell for cell, fitting in enumerate(choices) if place in fitting]
            for place in {place for fitting in choices for place in fitting}
        }
        if not all(_pair(place, wanting, takers, given, set()) for place in using):
            return None
    options = dict(enumerate(choices))
    for cell in options:
        if cell not in given and not _pair(cell, options, given, takers, set()):
            return None
    return [given[cell] for cell in options]


def _pair(
    one: int,
    options: Mapping[int, Sequence[int]],
    ours: dict[int, int],
    theirs: dict[int, int],
    seen: set[int],
) -> bool:
    """Match ``one``, if needed by matching the old partner of its new partner anew."""
    for other in options[one]:
        if other in seen:
            continue
        seen.add(other)
        if other not in theirs or _pair(theirs[other], options, ours, theirs, seen):
            ours[one], theirs[other] = other, one
            return True
    return False
