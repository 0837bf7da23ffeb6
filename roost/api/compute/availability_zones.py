"""Availability zones: those of aggregates, and those that hosts report.

A host is in the zone of its aggregates, else in the one that it reports. The list of zones is
cached for some seconds; one request to the schedulers serves all API requests meanwhile.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from roost import exception
from roost.api.compute.service_views import COMPUTE
from roost.api.dependencies import Dependencies
from roost.api.gather import Gatherer
from roost.api.pagination import micros
from roost.api.policy import ADMIN, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.cells import Cell
from roost.db.api import aggregates
from roost.db.api import cells as cell_rows
from roost.db.cell import instances, services
from roost.db.engine import Session
from roost.objects import HostReport

SECONDS: Final = 3.0


class HoldServers(exception.Conflict):
    """The change would move servers to another zone than the one they were created in."""


class Zones:
    """The zones of hosts, from the API database and the cells."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database
        self._cells = dependencies.cells
        self._gatherer = Gatherer(dependencies.executor, timeout=dependencies.options.cell_timeout)
        self._names: Recent[tuple[set[str], bool]] = Recent(seconds=SECONDS)

    def by_host(self) -> dict[str, str]:
        """Return the zones by host, of the hosts in an aggregate with a zone."""
        return self._database.query(aggregates.zones)

    def check(self, zone: str) -> None:
        """Make sure that a zone has hosts, or may have some in a cell that is unavailable.

        :raises roost.exception.Invalid: when it has none
        """
        names, are_all = self._names.get(self._ask)
        if zone not in names and are_all:  # as of a moment ago
            names, are_all = self._ask()
        if zone in names or not are_all:
            return
        raise exception.Invalid(f"The requested availability zone {zone} is not available.")

    def _ask(self) -> tuple[set[str], bool]:
        """Return the zones that hosts are in, and whether all cells reported theirs."""
        zones = self.by_host()
        cells = [cell for cell in self._cells.all() if not cell.is_cell0]
        gathered = self._gatherer.from_each(cells, _own_zones)
        own = {host: zone for _, some in gathered.answers for host, zone in some.items()}
        return {*(own | zones).values()}, not gathered.unavailable

    def check_moves(self, session: Session, change: aggregates.AggregateChange) -> None:
        """Make sure that a change moves no server to another zone.

        Call it before the change is committed. It may miss a server that is being built, which has
        no host yet.

        :param session: of the API database
        :raises HoldServers: when a host that changes its zone has servers
        :raises roost.exception.Unavailable: when the cell of such a host is unavailable
        """
        if not change.moved:
            return
        hosts = _by_cell(session, change.moved)
        cells = [self._cells.get(uuid) for uuid in hosts]
        gathered = self._gatherer.from_each(
            cells, lambda cell: _any_moves(cell, hosts[cell.uuid], change.moved)
        )
        if any(moves for _, moves in gathered.answers):
            raise HoldServers("One or more hosts contain instances in this zone")
        if gathered.unavailable:
            raise exception.Unavailable("not all cells report whether their hosts have servers")


def _by_cell(session: Session, hosts: Container[str]) -> dict[str, list[str]]:
    """Return these hosts by the uuid of their cell; a host without a mapping has no servers."""
    found: dict[str, list[str]] = defaultdict(list)
    for mapping in cell_rows.list_hosts(session):
        if mapping.host in hosts:
            found[mapping.cell_uuid].append(mapping.host)
    return found


def _own_zones(cell: Cell) -> dict[str, str]:
    """Return the zones that the hosts of a cell report, by host."""
    return cell.database.query(services.zones, binary=COMPUTE)


def _any_moves(
    cell: Cell, hosts: Sequence[str], moved: Mapping[str, tuple[str | None, str | None]]
) -> bool:
    """Return whether any host of a cell has servers and would change its zone."""
    used = cell.database.query(instances.hosts_in_use, hosts)
    own = _own_zones(cell) if used else {}
    return any(
        (moved[host][0] or own.get(host)) != (moved[host][1] or own.get(host)) for host in used
    )


T = TypeVar("T")


class Recent(Generic[T]):
    """A cache of one answer for some seconds; concurrent callers wait for the same request.

    A failure is cached like an answer: one wait for an unavailable peer, not one for each caller.

    :param seconds: how old an answer may be
    """

    def __init__(self, *, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._asking = threading.Lock()
        self._until = clock()
        self._recall: Callable[[], T] | None = None

    def get(self, ask: Callable[[], T]) -> T:
        """Return the result of ``ask``, or the cached one.

        :raises roost.exception.RoostError: raised by ``ask``, now or for the cached result
        """
        with self._asking:
            if self._recall is None or self._clock() >= self._until:
                self._recall = _recorded(ask)
                self._until = self._clock() + self._seconds
            recall = self._recall
        return recall()


def _recorded(ask: Callable[[], T]) -> Callable[[], T]:
    """Call ``ask``; return a function that repeats its result or failure."""
    try:
        answer = ask()
    except exception.RoostError as failure:
        kind, message, details = type(failure), failure.message, failure.details

        def fail() -> T:
            raise kind(message, **details)

        return fail
    return lambda: answer


def brief(hosts: Iterable[HostReport], zones: Mapping[str, str]) -> dict[str, Any]:
    """Return the zones; one is available when any of its hosts is.

    :param zones: by host; a host that is left out is in the zone that it reports
    """
    return _shown(hosts, zones, compute=None)


def full(hosts: Iterable[HostReport], zones: Mapping[str, str], *, compute: str) -> dict[str, Any]:
    """Return the zones with their hosts.

    :param compute: the name of the daemon of each host
    """
    return _shown(hosts, zones, compute=compute)


def _shown(
    hosts: Iterable[HostReport], zones: Mapping[str, str], *, compute: str | None
) -> dict[str, Any]:
    by_zone: dict[str, list[HostReport]] = {}
    for host in hosts:
        by_zone.setdefault(zones.get(host.host, host.availability_zone), []).append(host)
    return {
        "availabilityZoneInfo": [
            {
                "zoneName": zone,
                "zoneState": {"available": any(host.enabled for host in by_zone[zone])},
                "hosts": _hosts(by_zone[zone], compute) if compute else None,
            }
            for zone in sorted(by_zone)
        ]
    }


def _hosts(hosts: list[HostReport], compute: str) -> dict[str, Any]:
    return {
        host.host: {
            compute: {
                "active": host.enabled,
                "available": host.up,
                "updated_at": micros(host.reported_at),
            }
        }
        for host in hosts
    }


class AvailabilityZones:
    """Handlers of ``/os-availability-zone``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._scheduler = dependencies.scheduler
        self._zones = Zones(dependencies)
        self._brief: Recent[dict[str, Any]] = Recent(seconds=SECONDS)
        self._compute = dependencies.options.daemon_names.get(COMPUTE, COMPUTE)

    def list_brief(self, call: Call) -> Answer:
        """Return the zones, at most some seconds old: every user may ask, and often."""
        return Answer(self._brief.get(lambda: self._ask(call)))

    def _ask(self, call: Call) -> dict[str, Any]:
        return brief(self._scheduler.all_hosts(call.context), self._zones.by_host())

    def list_detailed(self, call: Call) -> Answer:
        hosts = self._scheduler.all_hosts(call.context)
        return Answer(full(hosts, self._zones.by_host(), compute=self._compute))


ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-availability-zone",
        (AvailabilityZones, AvailabilityZones.list_brief),
        Rule("os_compute_api:os-availability-zone:list", READER, "List availability zones."),
    ),
    row(
        "GET /v2.1/os-availability-zone/detail",
        (AvailabilityZones, AvailabilityZones.list_detailed),
        Rule(
            "os_compute_api:os-availability-zone:detail",
            ADMIN,
            "List availability zones with their hosts.",
        ),
    ),
)
