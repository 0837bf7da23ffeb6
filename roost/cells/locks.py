"""Lets mappings know which servers are locked, so that it is known while their cells are away.

The cell's row is the truth. A lock is noted before it; whoever has changed the row agrees after.
"""

from roost.cells.cell import Cell
from roost.db.api import instance_mappings
from roost.db.cell import instances
from roost.db.engine import Database, retried


@retried
def note(api_database: Database, instance_uuid: str) -> None:
    """Let a mapping say that the server is locked, before its cell does."""
    with api_database.begin() as session:
        instance_mappings.note_lock(session, instance_uuid, locked=True)


@retried
def agree(api_database: Database, cell: Cell, instance_uuid: str) -> bool:
    """Let a mapping say what its cell says now; tell whether it said otherwise.

    One does so at a time, so the last one has seen the last change of the row.

    :raises roost.exception.Unavailable: when the cell cannot be reached
    """
    with api_database.begin() as session:
        said = instance_mappings.is_locked(session, instance_uuid, hold=True)
        with cell.database.read() as in_cell:
            instance = instances.find(in_cell, instance_uuid)
        if said is None or instance is None or said == instance.locked:
            return False
        instance_mappings.note_lock(session, instance_uuid, locked=instance.locked)
        return True
