"""The filter by resource classes: what is free of anything countable, by parts of the hosts."""

from collections.abc import Hashable
from typing import Final

import numpy as np

from roost.scheduler.columns import Columns
from roost.scheduler.filters import Filter, Miss, Refusal
from roost.scheduler.request import Request
from roost.scheduler.topology import Allocator, FreeProvider, HostTopology

_NAMED: Final = 3  # hosts in a message
_NO_PARTS: Final = (FreeProvider("", frozenset(), {}),)


class ResourceClassesFilter(Filter):
    """Refuses hosts with too little of a resource class, or without it."""

    name = "resource_classes"
    by_usage = True
    forceable = False

    def applies_to(self, request: Request) -> bool:
        return bool(request.resources)

    def key(self, request: Request) -> Hashable:
        return request.resources

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        rows: dict[str, list[int]] = {}
        for row, reason in enumerate(_reasons(request, hosts)):
            if reason is not None:
                rows.setdefault(reason, []).append(row)
        refusals = [Refusal(reason, np.zeros(len(hosts), dtype=np.bool_)) for reason in rows]
        for reason, refused in refusals:
            refused[rows[reason]] = True
        return refusals

    def closest(self, request: Request, hosts: Columns) -> Miss | None:
        amounts = [*request.resources.own.amounts]
        amounts += [each for group in request.resources.groups for each in group.amounts]
        for name, amount in amounts:
            free = [_most_free(has, name) for has in hosts.topology.tolist()]
            most = max(free, default=None, key=lambda each: -1 if each is None else each)
            if most is None:
                return Miss(0, f"no {name}, which {_having(name, hosts.whole)}")
            if most < amount:
                text = f"{max(0, most)} {name} free of the {amount} requested"
                return Miss(free.index(most), text)
        reasons = _reasons(request, hosts)
        return next((Miss(row, why) for row, why in enumerate(reasons) if why is not None), None)


def _reasons(request: Request, hosts: Columns) -> list[str | None]:
    allocator = Allocator(request.resources)
    return [
        allocator.lack(_NO_PARTS if has is None else has.providers or _NO_PARTS)
        for has in hosts.topology.tolist()
    ]


def _most_free(has: HostTopology | None, name: str) -> int | None:
    """Return what is free of a class in the part of a host with the most; None: it has none."""
    parts = () if has is None else has.providers
    return max((one.stocks[name].free for one in parts if name in one.stocks), default=None)


def _having(name: str, hosts: Columns) -> str:
    """Return which of all hosts have a class."""
    topologies = hosts.topology.tolist()
    rows = [row for row, has in enumerate(topologies) if _most_free(has, name) is not None]
    if not rows:
        return "no host has"
    named = ", ".join(hosts.name("host", row) for row in rows[:_NAMED])
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return f"only {named}{more} have"
