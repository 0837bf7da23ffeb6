"""The daemons of all cells: which there are, and whether they are up."""

import dataclasses
from collections.abc import Sequence

from roost import exception
from roost.api.gather import Gatherer
from roost.api.parts import Parts
from roost.cells import Cell
from roost.db.cell import services as rows
from roost.objects import Service


@dataclasses.dataclass(frozen=True)
class Seen:
    """A daemon, where it is, and whether it is up."""

    cell: Cell
    service: Service
    up: bool


@dataclasses.dataclass(frozen=True)
class Found:
    """The daemons that cells tell of, and the cells that tell nothing."""

    seen: Sequence[Seen]
    away: Sequence[Cell]

    def raise_if_away(self) -> None:
        """Raise :class:`roost.exception.Unavailable` if what was not found may be there."""
        if self.away:
            raise exception.Unavailable("not all cells tell which daemons they have")


class Daemons:
    """Asks the cells for their daemons, and the service group whether they are up."""

    def __init__(self, parts: Parts) -> None:
        self._cells = parts.cells
        self._parts = parts
        self._gatherer = Gatherer(parts.executor, timeout=parts.options.cell_timeout)

    def find(
        self, *, host: str | None = None, binary: str | None = None, uuid: str | None = None
    ) -> Found:
        """Return daemons, cell by cell, in order of their first report.

        :param host: only those on this host
        :param binary: only those of this name
        :param uuid: only this one
        """
        hosts = None if host is None else [host]

        def of_cell(cell: Cell) -> list[Seen]:
            with cell.database.read() as session:
                roll = rows.call_roll(session, hosts=hosts, binary=binary, uuid=uuid)
            return self.see(cell, roll)

        cells = [cell for cell in self._cells.all() if not cell.is_cell0]
        gathered = self._gatherer.from_each(cells, of_cell)
        return Found([seen for _, some in gathered.answers for seen in some], gathered.away)

    def see(self, cell: Cell, roll: rows.RollCall) -> list[Seen]:
        """Return the daemons of a roll call, each up or not."""
        group = self._parts.service_group
        up = group.find_up(roll.services, cell_uuid=cell.uuid, now=roll.now)
        return [Seen(cell, service, service.uuid in up) for service in roll.services]
