"""Filters by the hosts and zone that a request names, ignores, or was tried on."""

from collections.abc import Hashable, Iterable
from typing import Final

import numpy as np

from roost.scheduler.columns import Columns, Mask, Membership
from roost.scheduler.filters import Filter, Miss, Refusal
from roost.scheduler.request import Request, tried_hosts

ANOTHER_CELL: Final = "in another cell than requested"
EXCLUDED_CELL: Final = "in an excluded cell"
IGNORED: Final = "to be ignored"


class RequestedFilter(Filter):
    """Allows only the requested host, node, cell and aggregate, and refuses those to ignore."""

    name = "requested"
    forceable = False

    def applies_to(self, request: Request) -> bool:
        return any(_demands(request))

    def key(self, request: Request) -> Hashable:
        return _demands(request)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        spec = request.spec
        demands = (
            ("cell", spec.requested_cell, ANOTHER_CELL),
            ("host", spec.requested_host, "not the requested host"),
            ("node", spec.requested_node, "not the requested node"),
        )
        refusals = [
            Refusal(reason, ~hosts.having(column, name)) for column, name, reason in demands if name
        ]
        if spec.requested_aggregate:
            there = _in_any(hosts, [spec.requested_aggregate])
            refusals.append(Refusal("not in the requested aggregate", ~there))
        if spec.ignore_cells:
            closed = _in_one_of(hosts, spec.ignore_cells)
            refusals.append(Refusal(EXCLUDED_CELL, closed))
        ignored = _named(hosts, [(host, None) for host in spec.ignore_hosts])
        if spec.ignore_aggregates:
            ignored |= _in_any(hosts, spec.ignore_aggregates)
        refusals.append(Refusal(IGNORED, ignored))
        return refusals


class RetryFilter(Filter):
    """Refuses hosts on which the instance was tried before."""

    name = "retry"

    def applies_to(self, request: Request) -> bool:
        return bool(tried_hosts(request.spec))

    def key(self, request: Request) -> Hashable:
        return tuple(tried_hosts(request.spec))

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        return [Refusal("tried before", _named(hosts, tried_hosts(request.spec)))]


def _demands(request: Request) -> tuple[Hashable, ...]:
    spec = request.spec
    return (
        spec.requested_host,
        spec.requested_node,
        spec.requested_cell,
        spec.requested_aggregate,
        tuple(spec.ignore_hosts),
        tuple(spec.ignore_cells),
        tuple(spec.ignore_aggregates),
    )


def _named(hosts: Columns, named: Iterable[tuple[str, str | None]]) -> Mask:
    found: Mask = np.zeros(len(hosts), dtype=np.bool_)
    for host, node in named:
        same = hosts.having("host", host)
        found |= same if node is None else same & hosts.having("node", node)
    return found


def _in_one_of(hosts: Columns, cells: Iterable[str]) -> Mask:
    found: Mask = np.zeros(len(hosts), dtype=np.bool_)
    for cell in cells:
        found |= hosts.having("cell", cell)
    return found


def _in_any(hosts: Columns, uuids: Iterable[str]) -> Mask:
    wanted = set(uuids)

    def is_in(membership: Membership) -> bool:
        return not wanted.isdisjoint(each.uuid for each in membership.aggregates)

    return hosts.by_membership(is_in)


class AvailabilityZoneFilter(Filter):
    """Allows only the requested zone, if there is one."""

    name = "availability_zone"

    def applies_to(self, request: Request) -> bool:
        return request.spec.availability_zone is not None

    def key(self, request: Request) -> Hashable:
        return request.spec.availability_zone

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        there = hosts.having("zone", str(request.spec.availability_zone))
        return [Refusal("in another availability zone", ~there)]

    def closest(self, request: Request, hosts: Columns) -> Miss | None:
        return Miss(0, f"it is in {hosts.name('zone', 0)}")
