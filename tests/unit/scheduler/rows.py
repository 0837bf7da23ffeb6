"""Hosts for tests of decisions: a test names only what matters to it."""

import itertools

from roost.db.scheduler.hosts import HostRow
from roost.scheduler.filters.availability_zone import AvailabilityZoneFilter
from roost.scheduler.filters.capacity import CpuFilter, DiskFilter, RamFilter
from roost.scheduler.filters.enabled import EnabledFilter
from roost.scheduler.filters.requested import RequestedFilter
from roost.scheduler.hosts import Hosts
from roost.scheduler.request import Request
from roost.scheduler.weighers import Weighing
from roost.scheduler.weighers.capacity import CpuWeigher, DiskWeigher, RamWeigher
from tests.builders import CELL1, NOW, a_spec

FILTERS = (
    EnabledFilter(),
    RequestedFilter(),
    AvailabilityZoneFilter(),
    RamFilter(),
    CpuFilter(),
    DiskFilter(),
)
WEIGHERS = tuple(Weighing(weigher(), 1.0) for weigher in (RamWeigher, CpuWeigher, DiskWeigher))
_ids = itertools.count(1)


def a_row(host="h1", **values):
    return HostRow(
        **{
            "id": next(_ids),
            "generation": 1,
            "host": host,
            "node": host,
            "cell_uuid": CELL1,
            "availability_zone": "nova",
            "enabled": True,
            "reported_at": NOW,
            "capacity": (8, 16384, 100),
            "used": (0, 0, 0),
        }
        | values
    )


def hosts_of(*rows):
    return Hosts.of(rows)


def a_request(*, count=1, alternates=0, placed=None, alive_since=0.0, **spec):
    return Request.of(
        a_spec(**spec),
        placed=[None] * count if placed is None else placed,
        alternates=alternates,
        alive_since=alive_since,
    )
