"""Which availability zone a host is in: that of its aggregates, else the one it names itself."""

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence

from roost import exception
from roost.api.gather import Gatherer
from roost.api.parts import Parts
from roost.api.views.services import COMPUTE
from roost.cells import Cell
from roost.db.api import aggregates
from roost.db.api import cells as cell_rows
from roost.db.cell import instances, services
from roost.db.engine import Session


class HoldServers(exception.Conflict):
    """Servers would find themselves in another zone than the one they were created in."""


class Zones:
    """The zones of hosts, as the API database and the cells know them."""

    def __init__(self, parts: Parts) -> None:
        self._database = parts.api_database
        self._cells = parts.cells
        self._gatherer = Gatherer(parts.executor, timeout=parts.options.cell_timeout)

    def by_host(self) -> dict[str, str]:
        """Return the zones of the hosts that have one by an aggregate."""
        with self._database.read() as session:
            return aggregates.zones(session)

    def check_moves(self, session: Session, change: aggregates.Change) -> None:
        """Make sure that a change takes no server to another zone.

        To be called before the change is committed. A server that is built at this moment may be
        overlooked, as it has no host yet.

        :param session: of the API database
        :raises HoldServers: when a host that changes its zone has servers
        :raises roost.exception.Unavailable: when that cannot be told, since its cell is away
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
        if gathered.away:
            raise exception.Unavailable("not all cells tell whether their hosts have servers")


def _by_cell(session: Session, hosts: Container[str]) -> dict[str, list[str]]:
    """Return these hosts by the uuid of their cell; one that is mapped to none has no servers."""
    found: dict[str, list[str]] = defaultdict(list)
    for mapping in cell_rows.list_hosts(session):
        if mapping.host in hosts:
            found[mapping.cell_uuid].append(mapping.host)
    return found


def _any_moves(
    cell: Cell, hosts: Sequence[str], moved: Mapping[str, tuple[str | None, str | None]]
) -> bool:
    """Tell whether any of a cell's hosts has servers, and would be in another zone than before."""
    with cell.database.read() as session:
        used = instances.hosts_in_use(session, hosts)
        known = services.list_services(session, binary=COMPUTE) if used else []
    own = {service.host: service.availability_zone for service in known}
    return any(
        (moved[host][0] or own.get(host)) != (moved[host][1] or own.get(host)) for host in used
    )
