"""Which cells of a host an instance must have for the sake of the devices it wants."""

import itertools
from collections.abc import Iterator, Sequence

from roost.scheduler.topology.numa import FreeCell
from roost.scheduler.topology.pci import FreePool, Near, Wish


def near(cells: Sequence[FreeCell], chosen: Sequence[int], *, strict: bool) -> Near:
    """Return what is near an instance on the chosen ones (by place) of a host's cells.

    :param strict: take *preferred* for *required*
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
    wishes: Sequence[Wish],
    pools: Sequence[FreePool],
    cells: Sequence[FreeCell],
    *,
    open_to: Sequence[int],
    most: int,
    strict: bool,
) -> Iterator[tuple[int, ...]]:
    """Go through the sets of cells that may have all the devices, small ones first.

    They are of those that the instance is ``open_to`` and have ``most`` cells at most. Sets are
    left out when the devices of one wish, counted alone, are too few there; a set that is left may
    still be one whose devices do not do for all.
    """
    nowhere = near(cells, [], strict=strict)
    bare = _numbers(wishes, pools, nowhere)
    gains = {}
    for place in open_to:
        numbers = _numbers(wishes, pools, near(cells, [place], strict=strict))
        gains[place] = [with_it - without for with_it, without in zip(numbers, bare, strict=True)]
    missing = [wish.number - number for wish, number in zip(wishes, bare, strict=True)]
    useful = sorted(
        (place for place in open_to if any(gains[place])), key=lambda place: -sum(gains[place])
    )
    for size in range(_fewest(missing, list(gains.values())), min(len(useful), most) + 1):
        for places in itertools.combinations(useful, size):
            if all(sum(gains[p][i] for p in places) >= lack for i, lack in enumerate(missing)):
                yield places


def _numbers(wishes: Sequence[Wish], pools: Sequence[FreePool], there: Near) -> list[int]:
    """Return how many devices there are for each wish, if it were the only one."""
    return [
        sum(
            pools[place].free
            for place in wish.pools
            if there.allows(wish.policy, pools[place].kind.numa_node)
        )
        for wish in wishes
    ]


def _fewest(missing: Sequence[int], gains: Sequence[Sequence[int]]) -> int:
    """Return how many cells it takes at least; more than there are when all will not do."""
    fewest = 0
    for wish, lack in enumerate(missing):
        best = sorted((gain[wish] for gain in gains), reverse=True)
        sums = itertools.accumulate(best, initial=0)
        fewest = max(
            fewest, next((size for size, total in enumerate(sums) if total >= lack), len(best) + 1)
        )
    return fewest
