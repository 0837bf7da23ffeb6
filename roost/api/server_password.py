"""The password that a server's guest has told of itself: only the owner's key can read it."""

from roost import exception
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.whereabouts import Whereabouts
from roost.cells import Cell
from roost.db.cell import provisions
from roost.db.engine import retried


class ServerPassword:
    """Handlers of ``/servers/{id}/os-server-password``."""

    def __init__(self, parts: Parts) -> None:
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)

    def show(self, call: Call) -> Answer:
        """Tell it; empty: the guest has told none, or it was cleared."""
        located = self._whereabouts.find(call, call.params["server_id"])
        if located.cell is None:
            return Answer({"password": ""})
        with located.cell.database.read() as session:
            return Answer({"password": provisions.told_password(session, located.instance.uuid)})

    def clear(self, call: Call) -> Answer:
        """Forget it here; in the guest it stays as it is.

        :raises roost.exception.Conflict: while the server has no cell
        """
        located = self._whereabouts.find(call, call.params["server_id"])
        if located.cell is None:
            raise exception.Conflict(f"Instance {located.instance.uuid} is not ready")
        _clear(located.cell, str(located.instance.uuid))
        return Answer()


@retried
def _clear(cell: Cell, uuid: str) -> None:
    with cell.database.begin() as session:
        provisions.tell_password(session, uuid, "")
