"""Servers that their cells have deleted, and that the API database has not forgotten yet.

What they had is free for the next one as soon as they are not found any more: sweeps of the
super-conductors forget them some seconds later, and whoever wants something of theirs does so now.
"""

from collections.abc import Collection

from roost import exception
from roost.cells import Cells
from roost.db.api import instance_mappings
from roost.db.cell import instances
from roost.db.engine import Database, retried


class DepartedServers:
    """Forgets them as a sweep would; those of cells that are away are left to it."""

    def __init__(self, database: Database, cells: Cells) -> None:
        self._database = database
        self._cells = cells

    def forget(self, uuids: Collection[str]) -> bool:
        """Forget those of these servers that are gone; tell whether there were any."""
        gone: set[str] = set()
        if uuids:
            with self._database.read() as session:
                leaving = instance_mappings.leaving(session, uuids)
            for cell_uuid in {*leaving.values()}:
                there = [uuid for uuid in leaving if leaving[uuid] == cell_uuid]
                gone |= self._gone_of_cell(cell_uuid, there)
        for one in gone:
            self._forget(one)
        return bool(gone)

    def _gone_of_cell(self, cell_uuid: str, uuids: Collection[str]) -> set[str]:
        """Return those of these servers that a cell has buried; none, while it is away."""
        try:
            with self._cells.get(cell_uuid).database.read() as session:
                known = instances.list_known(session, uuids)
                return known - instances.ending_states(session, uuids).keys()
        except exception.Unavailable:
            return set()

    @retried
    def _forget(self, uuid: str) -> None:
        with self._database.begin() as session:
            instance_mappings.forget(session, uuid)
