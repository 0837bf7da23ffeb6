"""Collects the states of all parts of a deployment: in batches, or of some instances.

Only one batch is in memory at a time: the instances of a span of uuids, or the guests of some
hosts. Whatever looks wrong in a batch is a suspect; suspects are checked again.
"""

import contextlib
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent import futures
from typing import Final, TypeVar

from roost import exception, states
from roost.audit.findings import compare, stray_ports
from roost.audit.snapshot import (
    LiveInstance,
    Snapshot,
    Stream,
    miscounted,
)
from roost.cells import Cell, Cells
from roost.context import admin_context
from roost.db import clock
from roost.db.api import audits as api_level
from roost.db.api import quota
from roost.db.cell import audits as in_cell
from roost.db.cell import ports, services
from roost.db.engine import Database
from roost.db.spans import UuidRange, Which, spans
from roost.external.neutron_ports import LeftoverPorts
from roost.scheduler.client import SchedulerClient
from roost.servicegroup.driver import ServiceGroup

_SPAN: Final = 2000  # instances in a batch
_NAMED: Final = 500  # suspects in a query
_HOSTS_AT_ONCE: Final = 32

T = TypeVar("T")
CellHost = tuple[str, str]  # a cell's uuid and a host


@dataclasses.dataclass
class Suspects:
    """What is to be checked again: instances, and the hosts that may have their guests.

    ``ports``: ports of Neutron, each with its instance. ``unchecked``: parts that were not checked.
    """

    uuids: set[str] = dataclasses.field(default_factory=set)
    hosts: set[CellHost] = dataclasses.field(default_factory=set)
    ports: dict[str, str] = dataclasses.field(default_factory=dict)
    unchecked: list[str] = dataclasses.field(default_factory=list)


class Collector:
    """Queries all parts; a part that does not answer is noted as unchecked.

    It reads first what a boot creates last: so a boot meanwhile looks new, not inconsistent.

    :param group: finds the hosts that are down, which are not queried
    :param outside_ports: the network service that has the ports of instances; None: they are rows
    """

    def __init__(
        self,
        api_database: Database,
        cells: Cells,
        schedulers: SchedulerClient,
        *,
        group: ServiceGroup,
        outside_ports: LeftoverPorts | None = None,
    ) -> None:
        self._api_database = api_database
        self._cells = cells
        self._schedulers = schedulers
        self._group = group
        self._outside_ports = outside_ports
        self._context = admin_context()

    def sweep(self) -> Suspects:
        """Check everything once, in batches; return what looks wrong.

        :raises roost.exception.Unavailable: when the API database does not answer
        """
        suspects = Suspects()
        for cell in self._cells.all():
            self._sweep_hosts(suspects, cell)
        self._sweep_outside_ports(suspects)
        count = self._api_database.query(api_level.count_mappings)
        claims = self._stream(suspects)
        for span in spans(count, size=_SPAN):
            snapshot = Snapshot()
            self._read_cells(snapshot, [span])
            claims = self._take(snapshot, claims, span)
            self._read_api(snapshot, [span])
            found = compare(snapshot)
            suspects.uuids.update(finding.subject for finding in found)
            suspects.unchecked += snapshot.unchecked
        return suspects

    def look(self, suspects: Suspects) -> Snapshot:
        """Return the states of suspects, and the sums of projects and hosts, and leftover ports.

        :raises roost.exception.Unavailable: when the API database does not answer
        """
        snapshot = Snapshot()
        uuids = sorted(suspects.uuids.union(suspects.ports.values()))
        named = list(_batched(uuids, _NAMED))
        self._ask_suspected_hosts(snapshot, suspects, named)
        self._read_outside_ports(snapshot, suspects)
        self._read_cells(snapshot, named)
        self._read_deleted(snapshot, named)
        self._read_ports(snapshot)
        with _noting(snapshot.unchecked, "claims"):
            self._read_claims(snapshot, named)
        self._read_api(snapshot, named)
        self._read_quota(snapshot)
        return snapshot

    # hosts

    def _sweep_hosts(self, suspects: Suspects, cell: Cell) -> None:
        hosts = self._list_hosts(suspects.unchecked, cell)
        for some in _batched(hosts, _HOSTS_AT_ONCE):
            asked = [(cell.uuid, host) for host in some]
            for (_uuid, host), guests in self._ask(asked, suspects.unchecked).items():
                with contextlib.suppress(exception.RoostError):  # noted with the instances
                    odd = self._odd_guests(cell, host, guests)
                    suspects.uuids.update(odd)
                    suspects.hosts.update([(cell.uuid, host)] if odd else [])

    def _odd_guests(self, cell: Cell, host: str, guests: set[str]) -> set[str]:
        """Return guests without an instance on their host, and instances without a guest there."""
        rows = cell.database.query(in_cell.list_on_host, host)
        resting = {
            row.uuid for row in rows if row.vm_state in states.WITH_GUEST and row.task_state is None
        }
        return (guests - {row.uuid for row in rows}) | (resting - guests)

    def _ask_suspected_hosts(
        self, snapshot: Snapshot, suspects: Suspects, named: Iterable[Collection[str]]
    ) -> None:
        """Ask the hosts where suspects were seen, and those where they should be."""
        if not suspects.hosts:
            return
        rows = Snapshot()
        self._read_cells(rows, named)
        expected = {(one.cell_uuid, one.host) for one in rows.instances if one.host is not None}
        up = {
            (cell.uuid, host)
            for cell in self._cells.all()
            for host in self._list_hosts([], cell)  # those that are down were noted
        }
        asked = (suspects.hosts | expected) & up
        for host, guests in self._ask(asked, snapshot.unchecked).items():
            snapshot.guests[host] = guests & suspects.uuids

    def _list_hosts(self, unchecked: list[str], cell: Cell) -> list[str]:
        """Return the hosts of a cell that are up; note the others as unchecked."""
        if cell.is_cell0:
            return []
        try:
            roll = cell.database.query(services.call_roll, binary="roost-compute")
        except exception.RoostError:  # noted when its instances are read
            return []
        up = self._group.find_up(roll.services, cell_uuid=cell.uuid, now=roll.now)
        down = [compute.host for compute in roll.services if compute.uuid not in up]
        unchecked += [f"guests on host {host}: it is down" for host in down]
        return [compute.host for compute in roll.services if compute.uuid in up]

    def _ask(self, hosts: Collection[CellHost], unchecked: list[str]) -> dict[CellHost, set[str]]:
        """Return the guests of hosts, queried concurrently; errors are noted as unchecked."""
        found = {}
        with futures.ThreadPoolExecutor(_HOSTS_AT_ONCE) as pool:
            asked = {
                (uuid, host): pool.submit(
                    self._cells.get(uuid).compute.on(host).list_guests, self._context
                )
                for uuid, host in sorted(hosts)
            }
            for (uuid, host), answer in asked.items():
                try:
                    found[uuid, host] = set(answer.result())
                except Exception as error:  # noqa: BLE001 - the other hosts are queried all the same
                    why = error.message if isinstance(error, exception.RoostError) else repr(error)
                    unchecked.append(f"guests on host {host}: {why}")
        return found

    # instances

    def _read_cells(self, snapshot: Snapshot, which: Iterable[Which]) -> None:
        which = list(which)
        for cell in self._cells.all():
            snapshot.unknown_cells.add(cell.uuid)
            with _noting(snapshot.unchecked, f"cell {cell.name}"):
                for some in which:
                    snapshot.instances += [
                        LiveInstance(cell_uuid=cell.uuid, **row._asdict())
                        for row in cell.database.query(in_cell.list_live, some)
                    ]
                snapshot.unknown_cells.discard(cell.uuid)

    def _read_ports(self, snapshot: Snapshot) -> None:
        for cell in self._cells.all():
            if cell.uuid in snapshot.unknown_cells:
                continue
            snapshot.unknown_cells.add(cell.uuid)
            with _noting(snapshot.unchecked, f"cell {cell.name}"):
                snapshot.orphaned_ports += cell.database.query(ports.list_orphans)
                snapshot.unknown_cells.discard(cell.uuid)

    # ports of a network service

    def _sweep_outside_ports(self, suspects: Suspects) -> None:
        if self._outside_ports is None:
            return
        with _noting(suspects.unchecked, "ports of Neutron"):
            for page in self._outside_ports.pages():
                snapshot = Snapshot(outside_ports={port.id: port for port in page})
                named = list(_batched(sorted({port.instance_uuid for port in page}), _NAMED))
                self._read_cells(snapshot, named)
                self._read_deleted(snapshot, named)
                self._read_api(snapshot, named)
                suspects.ports |= {port.id: port.instance_uuid for port in stray_ports(snapshot)}

    def _read_outside_ports(self, snapshot: Snapshot, suspects: Suspects) -> None:
        if self._outside_ports is not None and suspects.ports:
            with _noting(snapshot.unchecked, "ports of Neutron"):
                found = self._outside_ports.look(suspects.ports)
                snapshot.outside_ports = {port.id: port for port in found}

    def _read_deleted(self, snapshot: Snapshot, named: Iterable[Collection[str]]) -> None:
        """Note which of the instances of ports are deleted in their cells."""
        wanted = {port.instance_uuid for port in snapshot.outside_ports.values()}
        some = [found for uuids in named if (found := wanted.intersection(uuids))]
        for cell in self._cells.all():
            if cell.uuid not in snapshot.unknown_cells:
                with _noting(snapshot.unchecked, f"cell {cell.name}"):
                    for uuids in some:
                        snapshot.deleted_in_cell |= cell.database.query(in_cell.list_deleted, uuids)

    # claims

    def _stream(self, suspects: Suspects) -> Stream | None:
        with _noting(suspects.unchecked, "claims"):
            self._schedulers.check(self._context)
            return Stream(self._schedulers.all_claims(self._context))
        return None

    def _take(self, snapshot: Snapshot, claims: Stream | None, span: UuidRange) -> Stream | None:
        """Note the claims of a span; return the rest of the stream, None after an error."""
        if claims is not None:
            with _noting(snapshot.unchecked, "claims"):
                snapshot.note_claims(claims.take(span))
                return claims
        return None

    def _read_claims(self, snapshot: Snapshot, named: Sequence[Collection[str]]) -> None:
        self._schedulers.check(self._context)
        claims = [
            claim
            for some in named
            for claim in self._schedulers.list_claims(self._context, instance_uuids=list(some))
        ]
        snapshot.note_claims(claims)
        snapshot.miscounted = miscounted(self._schedulers, self._context)

    # the API level

    def _read_api(self, snapshot: Snapshot, which: Iterable[Which]) -> None:
        for some in which:
            with self._api_database.read() as session:
                snapshot.now = clock.now(session)
                snapshot.mappings.update(api_level.mappings(session, some))
                snapshot.build_requests.update(api_level.build_requests_of(session, some))
                snapshot.deleted.update(api_level.deleted(session, some))

    def _read_quota(self, snapshot: Snapshot) -> None:
        for project, difference in self._api_database.query(quota.differences).items():
            snapshot.quota_used[project] = difference.used
            snapshot.quota_counted[project] = difference.counted


@contextlib.contextmanager
def _noting(unchecked: list[str], what: str) -> Iterator[None]:
    """Note a part that could not be checked, once, and go on."""
    try:
        yield
    except exception.RoostError as error:
        noted = f"{what}: {error.message}"
        if noted not in unchecked:
            unchecked.append(noted)


def _batched(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
