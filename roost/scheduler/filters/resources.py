"""The filter by resource classes: what is free of anything countable, by parts of the hosts."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

import numpy as np

from roost.scheduler.columns import Columns
from roost.scheduler.filters import Filter, Miss, Refusal
from roost.scheduler.filters.capacity import not_allowed
from roost.scheduler.request import Request
from roost.scheduler.topology import Allocator

_NAMED: Final = 3  # hosts in a message


class ResourceClassesFilter(Filter):
    """Refuses hosts with too little of a resource class, or without it.

    Hosts without parts are checked all at once, unless groups are requested.
    """

    name = "resource_classes"
    by_usage = True
    forceable = False

    def applies_to(self, request: Request) -> bool:
        return bool(request.resources)

    def key(self, request: Request) -> Hashable:
        return request.resources

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        if request.resources.groups:
            return _one_by_one(request, hosts, range(len(hosts)))
        refusals = _all_at_once(request.resources.own.amounts, hosts)
        if not hosts.has_parts.any():
            return refusals
        whole = [Refusal(reason, refused & ~hosts.has_parts) for reason, refused in refusals]
        return [*whole, *_one_by_one(request, hosts, np.flatnonzero(hosts.has_parts).tolist())]

    def closest(self, request: Request, hosts: Columns) -> Miss | None:
        amounts = [*request.resources.own.amounts]
        amounts += [each for group in request.resources.groups for each in group.amounts]
        for name, amount in amounts:
            free = _most_free(name, hosts)
            most = max(free, default=None, key=lambda each: -1 if each is None else each)
            if most is None:
                return Miss(0, f"no {name}, which {_having(name, hosts.whole)}")
            if most < amount:
                text = f"{max(0, most)} {name} free of the {amount} requested"
                return Miss(free.index(most), text)
        for reason, refused in self.refuse(request, hosts):
            if refused.any():
                return Miss(int(refused.argmax()), reason)
        return None


def _all_at_once(amounts: Sequence[tuple[str, int]], hosts: Columns) -> list[Refusal]:
    """Return the refusals of hosts, without regard to their parts."""
    free = hosts.free_of([name for name, _ in amounts])
    short = free < np.array([[amount] for _, amount in amounts])
    refusals = [each for name, amount in amounts for each in not_allowed(name, amount, hosts)]
    for at in np.flatnonzero(short.any(axis=1)).tolist():
        name, _ = amounts[at]
        refusals.append(Refusal(f"no {name}", hosts.capacity_of(name) == 0))
        refusals.append(Refusal(f"not enough {name}", short[at]))
    return refusals


def _one_by_one(request: Request, hosts: Columns, rows: Iterable[int]) -> list[Refusal]:
    """Return the refusals of some hosts, with regard to their parts."""
    allocator = Allocator(request.resources)
    refusals: dict[str, Refusal] = {}
    for row in rows:
        reason = allocator.lack(hosts.providers(row))
        if reason is not None:
            refusal = refusals.setdefault(reason, Refusal(reason, np.zeros(len(hosts), np.bool_)))
            refusal.hosts[row] = True
    return list(refusals.values())


def _most_free(name: str, hosts: Columns) -> list[int | None]:
    """Return what is free of a class in the part of each host with the most; None: it has none."""
    found = []
    for row in range(len(hosts)):
        stocks = (one.stocks.get(name) for one in hosts.providers(row))
        found.append(max((stock.free for stock in stocks if stock is not None), default=None))
    return found


def _having(name: str, hosts: Columns) -> str:
    """Return which of all hosts have a class."""
    rows = [row for row, free in enumerate(_most_free(name, hosts)) if free is not None]
    if not rows:
        return "no host has"
    named = ", ".join(hosts.name("host", row) for row in rows[:_NAMED])
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return f"only {named}{more} have"
