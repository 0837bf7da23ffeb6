"""All cells, by the mappings in the API database."""

import contextlib
import dataclasses
import logging
import threading
import time
from collections.abc import Callable

from roost import exception
from roost.cells.cell import CallLimits, Cell, CellBus
from roost.cells.host_breakers import HostBreakers
from roost.db.api import cells as cell_rows
from roost.db.cell import services
from roost.db.engine import Database
from roost.objects import CellMapping
from roost.objects.mapping import CELL0_UUID

LOG = logging.getLogger(__name__)


REMEMBERED = 10.0  # seconds that mappings are cached
_NO_OTHER = CallLimits()


@dataclasses.dataclass(frozen=True)
class _Known:
    at: float
    cells: dict[str, Cell]


class Cells:
    """All mapped cells; mappings are cached for ``REMEMBERED`` seconds.

    :param make_database: URL -> database
    :param make_bus: URL -> bus
    :param limits: limits of the calls to a cell's database and bus
    :param hosts: guards the calls that wait for hosts
    :param task_seconds: the length of the leases that new operations give; None: they give none
    """

    def __init__(
        self,
        api_database: Database,
        *,
        make_database: Callable[[str], Database],
        make_bus: Callable[[str], CellBus],
        limits: CallLimits = _NO_OTHER,
        hosts: HostBreakers | None = None,
        task_seconds: float | None = None,
    ) -> None:
        self._task_seconds = task_seconds
        self._api_database = api_database
        self._make_database = make_database
        self._make_bus = make_bus
        self._limits = limits
        self._hosts = hosts
        self._lock = threading.Lock()
        self._known = _Known(at=float("-inf"), cells={})
        self._host_cells: dict[str, str] = {}

    def all(self) -> list[Cell]:
        """Return cell0 and all cells, in order of their creation."""
        return list(self._fresh().values())

    def closed(self) -> list[Cell]:
        """Return the cells that get no new instances."""
        return [cell for cell in self.all() if cell.mapping.disabled]

    def unavailable(self) -> list[Cell]:
        """Return the cells that are known to be unavailable."""
        return [cell for cell in self.all() if cell.is_unavailable]

    def get(self, uuid: str) -> Cell:
        """Return a cell.

        :raises roost.exception.NotFound: when no such cell is mapped
        """
        cell = self._fresh().get(uuid) or self._fresh(0).get(uuid)
        if cell is None:
            raise exception.NotFound(f"there is no cell {uuid}; see roost-manage cell list")
        return cell

    def cell0(self) -> Cell:
        """Return the cell for instances that could not be placed."""
        try:
            return self.get(CELL0_UUID)
        except exception.NotFound as error:
            raise exception.Unavailable(
                "there is no cell0 yet: run roost-manage cell map-cell0"
            ) from error

    def of_host(self, host: str) -> Cell:
        """Return the cell of a host, by its mapping.

        :raises roost.exception.NotFound: when the host is not mapped
        """
        self._fresh()
        known = self._host_cells  # a refresh replaces it at any moment
        if host not in known:
            with self._api_database.read() as session:
                mapping = cell_rows.find_host(session, host)
            if mapping is None:
                raise exception.NotFound(
                    f"host {host} is mapped to no cell; run roost-manage cell discover-hosts"
                )
            known[host] = mapping.cell_uuid
        return self.get(known[host])

    def search(self, host: str) -> Cell:
        """Return the cell of a host; search all cells for a host that is not mapped yet.

        :raises roost.exception.NotFound: when no reachable cell has such a compute
        """
        try:
            return self.of_host(host)
        except exception.NotFound:
            for cell in self.all():
                with contextlib.suppress(exception.NotFound, exception.Unavailable):
                    return self.discover(host, cell.uuid)
            raise

    def discover(self, host: str, cell_uuid: str) -> Cell:
        """Map a host to the cell that its reports name, if the cell has a compute of that name.

        :raises roost.exception.NotFound: when it has none
        """
        cell = self.get(cell_uuid)
        with cell.database.read() as session:
            serving = services.list_services(session, hosts=[host], binary="roost-compute")
        if not serving:
            raise exception.NotFound(f"the cell {cell.name} has no compute on {host}")
        self._api_database.write(cell_rows.map_host, host, cell_uuid)
        LOG.info("host %s is in cell %s", host, cell.name)
        return self.of_host(host)

    def probe(self) -> None:
        """Probe each cell, so that a request seldom is the first to wait for an unavailable one."""
        for cell in self.all():
            cell.probe()

    def close(self) -> None:
        for cell in self._known.cells.values():
            cell.close()

    def _fresh(self, age: float = REMEMBERED) -> dict[str, Cell]:
        with self._lock:
            if time.monotonic() - self._known.at > age:
                self._known = _Known(at=time.monotonic(), cells=self._read())
                self._host_cells = {}
            return self._known.cells

    def _read(self) -> dict[str, Cell]:
        with self._api_database.read() as session:
            mappings = cell_rows.list_cells(session)
        return {mapping.uuid: self._same_or_new(mapping) for mapping in mappings}

    def _same_or_new(self, mapping: CellMapping) -> Cell:
        known = self._known.cells.get(mapping.uuid)
        if known is not None and known.mapping == mapping:
            return known
        url = mapping.transport_url
        bus = None if mapping.is_cell0 or url is None else self._make_bus(url)
        return Cell(
            mapping,
            self._make_database(mapping.database_url),
            bus,
            limits=self._limits,
            hosts=self._hosts,
            task_seconds=self._task_seconds,
        )
