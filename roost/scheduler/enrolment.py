"""What hosts have of the aggregates that they are in: zone, ratios, and the membership itself."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from roost.db.scheduler.hosts import RESOURCES
from roost.objects import Aggregate
from roost.scheduler.columns import Membership, Rows
from roost.scheduler.hosts import Hosts

ByHost = Mapping[str, Sequence[Aggregate]]
_ZONE: Final = "availability_zone"
_RATIOS: Final = {
    "vcpus": "cpu_allocation_ratio",
    "memory_mb": "ram_allocation_ratio",
    "disk_gb": "disk_allocation_ratio",
}


def by_host(aggregates: Iterable[Aggregate]) -> ByHost:
    """Return the aggregates of each host, by its name."""
    found: dict[str, list[Aggregate]] = {}
    for aggregate in aggregates:
        for host in aggregate.hosts:
            found.setdefault(host, []).append(aggregate)
    return found


def enrol(hosts: Hosts, rows: Rows, aggregates: ByHost) -> None:
    """Let hosts know their aggregates, and what follows.

    The zone of an aggregate is that of its hosts, whatever they report; of several ratios the
    smallest counts.
    """
    hosts.membership[rows] = hosts.shared.memberships.learn(Membership())
    hosts.zone[rows] = hosts.reported_zone[rows]
    hosts.capacity[:, rows] = (hosts.net[:, rows] * hosts.ratios[:, rows]).astype(np.int64)
    names = hosts.shared.names
    members = [names.code(host) for host in aggregates]
    for row in rows[np.isin(hosts.host[rows], members)].tolist():
        _join(hosts, row, Membership.of(aggregates[hosts.name("host", row)]))
    hosts.rescale()


def _join(hosts: Hosts, row: int, membership: Membership) -> None:
    hosts.membership[row] = hosts.shared.memberships.learn(membership)
    zones = membership.values(_ZONE)
    if zones:
        hosts.zone[row] = hosts.shared.names.learn(zones[0])
    for resource, name in _RATIOS.items():
        ratio = membership.smallest(name)
        if ratio is not None:
            line = RESOURCES.index(resource)
            hosts.capacity[line, row] = int(hosts.net[line, row] * ratio)
