"""Servers that are gone: nothing names their cells any more, which keep their rows."""

import uuid as uuids

from roost import exception
from roost.api.call import Call
from roost.api.gather import Gatherer
from roost.api.parts import Parts
from roost.api.validation import is_uuid
from roost.api.whereabouts import Located, missing
from roost.cells import Cell
from roost.db.cell import instances
from roost.objects import Instance


class Buried:
    """Asks all cells for one server."""

    def __init__(self, parts: Parts) -> None:
        self._cells = parts.cells
        self._gatherer = Gatherer(parts.executor, timeout=parts.options.cell_timeout)

    def find(self, call: Call, uuid: str) -> Located:
        """Return a server that was deleted and that the caller may look at.

        :raises roost.exception.NotFound: when there was none, or none for this caller
        :raises roost.exception.Unavailable: when it may be in a cell that is away
        """
        if not is_uuid(uuid):
            raise missing(uuid)
        wanted = str(uuids.UUID(uuid))

        def of_cell(cell: Cell) -> Instance | None:
            with cell.database.read() as session:
                return instances.find(session, wanted, deleted=True)

        gathered = self._gatherer.from_each(self._cells.all(), of_cell)
        for cell, instance in gathered.answers:
            if instance is not None:
                call.may_touch(instance.project_id, name=f"Instance {uuid}")
                return Located(instance, cell)
        if gathered.away:
            raise exception.Unavailable(f"not all cells tell whether they had instance {uuid}")
        raise missing(uuid)
