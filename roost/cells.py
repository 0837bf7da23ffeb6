"""Cells as those above them see them: a database, a bus and the hosts on it.

Used by what stands outside all cells: api, super-conductor, roost-manage.
"""

import dataclasses
import functools
import logging
import threading
import time
from collections.abc import Callable

from roost import exception, states
from roost.context import RequestContext
from roost.db.api import cells as cell_rows
from roost.db.cell import actions, burial, instances, services
from roost.db.engine import Database
from roost.db.types import utcnow
from roost.objects import CellMapping, InstanceAction
from roost.objects.mapping import CELL0_UUID
from roost.rpc.compute import Compute
from roost.rpc.transport import Bus

LOG = logging.getLogger(__name__)
REMEMBERED = 10.0  # seconds that a mapping is taken for true


class Cell:
    """One cell: its database, and the way to its computes. cell0 has a database only."""

    def __init__(self, mapping: CellMapping, database: Database, bus: Bus | None) -> None:
        self.mapping = mapping
        self.database = database
        self._bus = bus

    @property
    def name(self) -> str:
        return str(self.mapping.name)

    @property
    def uuid(self) -> str:
        return str(self.mapping.uuid)

    @property
    def is_cell0(self) -> bool:
        return self.mapping.is_cell0

    @property
    def bus(self) -> Bus:
        if self._bus is None:
            raise exception.Internal(f"the cell {self.name} has no bus")
        return self._bus

    @functools.cached_property
    def compute(self) -> Compute:
        """The client of this cell's hosts; ``.on(host)`` names one."""
        return Compute(self.bus)

    def end_instance(self, context: RequestContext, instance_uuid: str) -> bool:
        """Let an instance end: tell its host, or bury it where it has none. May be repeated.

        :returns: False when it was gone already
        """
        try:
            host = self._mark_ending(context, instance_uuid)
        except exception.NotFound:  # it may go at any moment: somebody else may end it, too
            return False
        if host is not None:
            self._tell(context, host, instance_uuid)
        return True

    def _mark_ending(self, context: RequestContext, instance_uuid: str) -> str | None:
        """Write down that an instance ends, and return the host that has it."""
        with self.database.begin() as session:
            instance = instances.get(session, instance_uuid)
            if instance.host is not None:
                ending = {"task_state": states.DELETING}
                instances.update(session, instance_uuid, ending, expected={})
            actions.start(session, _delete_action(context, instance_uuid))
            if instance.host is None:
                burial.bury(session, instance_uuid, [])
            return str(instance.host) if instance.host is not None else None

    def close(self) -> None:
        self.database.close()
        if self._bus is not None:
            self._bus.close()

    def _tell(self, context: RequestContext, host: str, instance_uuid: str) -> None:
        """Cast a hint; the row says it, too, so a lost one is sent again by the sweeper."""
        try:
            self.compute.on(host).terminate_instance(context, instance_uuid=instance_uuid)
        except exception.Unavailable as error:
            LOG.warning(
                "%s: host %s does not know yet that it ends: %s", instance_uuid, host, error
            )


@dataclasses.dataclass(frozen=True)
class _Known:
    at: float
    cells: dict[str, Cell]


class Cells:
    """All mapped cells; mappings are read again when they are a few seconds old.

    :param make_database: URL -> database
    :param make_bus: URL -> bus
    """

    def __init__(
        self,
        api_database: Database,
        *,
        make_database: Callable[[str], Database],
        make_bus: Callable[[str], Bus],
    ) -> None:
        self._api_database = api_database
        self._make_database = make_database
        self._make_bus = make_bus
        self._lock = threading.Lock()
        self._known = _Known(at=float("-inf"), cells={})
        self._host_cells: dict[str, str] = {}

    def all(self) -> list[Cell]:
        """Return cell0 and all cells, in order of their creation."""
        return list(self._fresh().values())

    def closed(self) -> list[Cell]:
        """Return the cells that get no new instances."""
        return [cell for cell in self.all() if cell.mapping.disabled]

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

    def discover(self, host: str, cell_uuid: str) -> Cell:
        """Map a host to the cell that its reports name, if a compute of that name serves there.

        :raises roost.exception.NotFound: when the cell knows no such compute
        """
        cell = self.get(cell_uuid)
        with cell.database.read() as session:
            serving = services.list_services(session, host=host, binary="roost-compute")
        if not serving:
            raise exception.NotFound(f"the cell {cell.name} has no compute on {host}")
        with self._api_database.begin() as session:
            cell_rows.map_host(session, host, cell_uuid)
        LOG.info("host %s is in cell %s", host, cell.name)
        return self.of_host(host)

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
        return Cell(mapping, self._make_database(mapping.database_url), bus)


def _delete_action(context: RequestContext, instance_uuid: str) -> InstanceAction:
    return InstanceAction(
        instance_uuid=instance_uuid,
        action="delete",
        request_id=context.request_id,
        user_id=context.user_id,
        project_id=context.project_id,
        start_time=utcnow(),
        finish_time=None,
        message=None,
        events=[],
    )
