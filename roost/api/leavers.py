"""Servers that their cells have buried, while the API level still has them on networks.

Sweeps of the super-conductors forget them, some seconds later. Who deletes a network after the
servers that stood on it need not wait for that.
"""

from collections.abc import Collection

from roost import exception
from roost.cells import Cells
from roost.db.api import instance_mappings, networks
from roost.db.cell import instances
from roost.db.engine import Database, retried


class Leavers:
    """Forgets them as a sweep would; those of cells that are away are left to it."""

    def __init__(self, database: Database, cells: Cells) -> None:
        self._database = database
        self._cells = cells

    def forget_on(self, network_id: str) -> None:
        """Let the servers of a network that are gone stand on none."""
        with self._database.read() as session:
            uuids = networks.users(session, network_id)
            leaving = instance_mappings.leaving(session, uuids) if uuids else {}
        for cell_uuid in {*leaving.values()}:
            there = [uuid for uuid in leaving if leaving[uuid] == cell_uuid]
            for one in self._of_cell(cell_uuid, there):
                self._forget(one)

    def _of_cell(self, cell_uuid: str, uuids: Collection[str]) -> set[str]:
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
