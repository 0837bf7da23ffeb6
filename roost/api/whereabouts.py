"""Finds one server: still a wish, or in which cell."""

import dataclasses

from roost import exception
from roost.api.call import Call
from roost.api.validation import is_uuid
from roost.cells import Cell, Cells
from roost.db.api import build_requests, instance_mappings
from roost.db.cell import instances
from roost.db.engine import Database
from roost.objects import Instance


@dataclasses.dataclass(frozen=True)
class Located:
    """An instance and its cell; no cell: it is still a wish."""

    instance: Instance
    cell: Cell | None


class Whereabouts:
    """Asks the API database where, then the cell what: one statement each."""

    def __init__(self, database: Database, cells: Cells) -> None:
        self._database = database
        self._cells = cells

    def find(self, call: Call, uuid: str, *, deleted: bool = False) -> Located:
        """Return a server that the caller may touch.

        :param deleted: a buried one will do
        :raises roost.exception.NotFound: when there is none, or none for this caller
        """
        wish, cell_uuid = self._wish_or_cell(call, uuid)
        if wish is None and cell_uuid is None:  # it was placed between two statements
            wish, cell_uuid = self._wish_or_cell(call, uuid)
        if wish is not None:
            return Located(wish, None)
        if cell_uuid is None:
            raise missing(uuid)
        cell = self._cells.get(cell_uuid)
        with cell.database.read() as session:
            instance = instances.find(session, uuid, deleted=deleted)
        if instance is None:
            raise missing(uuid)
        return Located(instance, cell)

    def _wish_or_cell(self, call: Call, uuid: str) -> tuple[Instance | None, str | None]:
        if not is_uuid(uuid):
            raise missing(uuid)
        with self._database.read() as session:
            mapping = instance_mappings.find(session, uuid)
            if mapping is None:
                raise missing(uuid)
            call.may_touch(mapping.project_id, name=f"Instance {uuid}")
            if mapping.cell_uuid is not None:
                return None, mapping.cell_uuid
            wish = build_requests.find(session, uuid)
        return (None if wish is None else wish.instance), None


def missing(uuid: str) -> exception.NotFound:
    return exception.NotFound(f"Instance {uuid} could not be found.")
