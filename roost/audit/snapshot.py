"""What all parts of a deployment say at one moment."""

import contextlib
import dataclasses
import datetime
from collections.abc import Iterator, Sequence
from concurrent import futures
from typing import Any, Protocol

from roost import exception
from roost.cells import Cell, Cells
from roost.context import RequestContext, admin_context
from roost.db.api import build_requests, instance_mappings, quota
from roost.db.cell import instances, ports, services
from roost.db.engine import Database
from roost.db.types import utcnow
from roost.objects import InstanceMapping, Service

_PAGE = 1000
_HOSTS_AT_ONCE = 32


class Claims(Protocol):
    """What an audit needs of the scheduler's client."""

    def all_claims(self, context: RequestContext) -> Iterator[dict[str, Any]]: ...


@dataclasses.dataclass(frozen=True)
class LiveInstance:
    """An instance that is not buried, as its cell knows it."""

    uuid: str
    cell_uuid: str
    host: str | None
    vm_state: str
    task_state: str | None


@dataclasses.dataclass
class Snapshot:
    """What everybody says.

    ``wishes`` are build requests, with the time they were made; ``guests`` uuids by (cell uuid,
    host); ``claims`` hosts by instance (None: the scheduler could not be asked). Of
    ``unknown_cells`` the database could not be read, so that nothing can be said about them.
    """

    instances: list[LiveInstance] = dataclasses.field(default_factory=list)
    mappings: dict[str, InstanceMapping] = dataclasses.field(default_factory=dict)
    wishes: dict[str, datetime.datetime] = dataclasses.field(default_factory=dict)
    claims: dict[str, str] | None = None
    guests: dict[tuple[str, str], set[str]] = dataclasses.field(default_factory=dict)
    orphaned_ports: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    quota_used: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    quota_counted: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    unknown_cells: set[str] = dataclasses.field(default_factory=set)
    unchecked: list[str] = dataclasses.field(default_factory=list)


class Collector:
    """Asks all parts; a part that does not answer is noted, and the rest asked all the same.

    What a boot makes last is read first. So what is made meanwhile looks young, not torn.

    :param down_after: silence after which a host counts as down and is not asked
    """

    def __init__(
        self,
        api_database: Database,
        cells: Cells,
        claims: Claims,
        *,
        down_after: datetime.timedelta = datetime.timedelta(minutes=1),
    ) -> None:
        self._api_database = api_database
        self._cells = cells
        self._claims = claims
        self._down_after = down_after
        self._context = admin_context()

    def __call__(self) -> Snapshot:
        """Return what all say now.

        :raises roost.exception.Unavailable: when the API database does not answer
        """
        snapshot = Snapshot()
        cells = self._cells.all()
        self._ask_hosts(snapshot, cells)
        for cell in cells:
            with _noting(snapshot, f"cell {cell.name}") as answered:
                self._read_cell(snapshot, cell)
                answered.append(cell)
            if not answered:
                snapshot.unknown_cells.add(cell.uuid)
        with _noting(snapshot, "claims"):
            snapshot.claims = self._list_claims()
        self._read_api(snapshot)
        return snapshot

    def _ask_hosts(self, snapshot: Snapshot, cells: Sequence[Cell]) -> None:
        with futures.ThreadPoolExecutor(_HOSTS_AT_ONCE) as pool:
            asked = {
                (cell.uuid, host): pool.submit(self._list_guests, cell, host)
                for cell in cells
                for host in self._list_hosts(snapshot, cell)
            }
            for (cell_uuid, host), answer in asked.items():
                with _noting(snapshot, f"guests on host {host}"):
                    snapshot.guests[cell_uuid, host] = set(answer.result())

    def _list_hosts(self, snapshot: Snapshot, cell: Cell) -> list[str]:
        """Return the hosts of a cell that are up; those that are not are noted."""
        if cell.is_cell0:
            return []
        computes: list[Service] = []
        with contextlib.suppress(exception.RoostError), cell.database.read() as session:
            computes = services.list_services(session, binary="roost-compute")
        down = [compute.host for compute in computes if not self._is_up(compute)]
        snapshot.unchecked += [f"guests on host {host}: it is down" for host in down]
        return [compute.host for compute in computes if compute.host not in down]

    def _is_up(self, service: Service) -> bool:
        return bool(not service.forced_down and service.last_seen_up > utcnow() - self._down_after)

    def _list_guests(self, cell: Cell, host: str) -> list[str]:
        return cell.compute.on(host).list_guests(self._context)

    @staticmethod
    def _read_cell(snapshot: Snapshot, cell: Cell) -> None:
        with cell.database.read() as session:
            marker = 0
            while page := instances.list_live(session, marker=marker, limit=_PAGE):
                marker = page[-1][0]
                snapshot.instances += [
                    LiveInstance(uuid, cell.uuid, host, vm_state, task_state)
                    for _place, uuid, host, vm_state, task_state in page
                ]
            snapshot.orphaned_ports += ports.list_orphans(session)

    def _list_claims(self) -> dict[str, str]:
        claims = self._claims.all_claims(self._context)
        return {claim["instance_uuid"]: claim["host"] for claim in claims}

    def _read_api(self, snapshot: Snapshot) -> None:
        with self._api_database.read() as session:
            marker = 0
            while page := instance_mappings.list_all(session, marker=marker, limit=_PAGE):
                marker = page[-1][0]
                snapshot.mappings.update({mapping.instance_uuid: mapping for _, mapping in page})
            wishes = build_requests.list_older_than(session, datetime.timedelta(0))
            snapshot.wishes = {wish.instance_uuid: wish.created_at for wish in wishes}
            snapshot.quota_used = quota.all_usages(session)
            snapshot.quota_counted = quota.counted(session)


@contextlib.contextmanager
def _noting(snapshot: Snapshot, what: str) -> Iterator[list[Cell]]:
    """Note what could not be looked at, and go on."""
    try:
        yield []
    except exception.RoostError as error:
        snapshot.unchecked.append(f"{what}: {error.message}")
