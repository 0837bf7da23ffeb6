"""Servers that are deleted in their cells, but still have rows in the API database.

Their networks, ports and groups are free once those rows are deleted: sweeps of the
super-conductors do so some seconds later, and a request that needs such a resource does so at once.
"""

from collections.abc import Collection

from roost import exception
from roost.cells import Cells
from roost.db.api import instance_mappings
from roost.db.cell import instances
from roost.db.engine import Database


class DepartedServers:
    """Deletes their rows as a sweep would; those of unavailable cells are left to the sweep."""

    def __init__(self, database: Database, cells: Cells) -> None:
        self._database = database
        self._cells = cells

    def forget(self, uuids: Collection[str]) -> bool:
        """Delete the rows of those of these servers that are deleted; return whether any were."""
        deleted: set[str] = set()
        if uuids:
            leaving = self._database.query(instance_mappings.leaving, uuids)
            for cell_uuid in {*leaving.values()}:
                there = [uuid for uuid in leaving if leaving[uuid] == cell_uuid]
                deleted |= self._deleted_in_cell(cell_uuid, there)
        for one in deleted:
            self._database.write(instance_mappings.forget, one)
        return bool(deleted)

    def _deleted_in_cell(self, cell_uuid: str, uuids: Collection[str]) -> set[str]:
        """Return those of these servers that a cell has deleted; none while it is unavailable."""
        try:
            with self._cells.get(cell_uuid).database.read() as session:
                known = instances.list_known(session, uuids)
                return known - instances.ending_states(session, uuids).keys()
        except exception.Unavailable:
            return set()
