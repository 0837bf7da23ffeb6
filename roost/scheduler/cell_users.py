"""Keeps cells to themselves: whoever speaks for one sees and changes nothing of another."""

from typing import Final

from roost import exception
from roost.callers import Caller, Level
from roost.clock import boot_clock
from roost.db.engine import Database
from roost.db.scheduler import cell_users as rows

_ASK: Final = (
    "roost-manage cell forget-user lets another user of the bus speak for a cell; see"
    " doc/security.rst"
)
_REMEMBERED_SECONDS: Final = 5.0  # so soon all schedulers know that a user is forgotten


class CellUsers:
    """Tells which cell a caller is confined to; what it has read it remembers for seconds."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, tuple[str, float]] = {}  # of a user: its cell, and when it was read

    def cell_of(self, caller: Caller) -> str | None:
        """Return the uuid of the cell that a caller is confined to; None: it is not.

        :raises roost.exception.Forbidden: when nobody knows of which cell it is
        """
        if caller.cell is None:
            return None
        found = self._remembered(caller.cell) or self._read(caller.cell)
        if found is None:
            raise exception.Forbidden(
                f"no cell is known yet for the user {caller.cell!r} of the bus: its cell-conductors"
                " report it"
            )
        return found

    def check(self, caller: Caller, cell_uuid: str) -> None:
        """Let a caller speak for its own cell only; for one without user its conductors come first.

        :raises roost.exception.Forbidden: when it is another's
        """
        if caller.cell is None or self._remembered(caller.cell) == cell_uuid:
            return
        own = self._read(caller.cell)
        if own is None and caller.level is Level.CELL:
            own = self._claim(caller.cell, cell_uuid)
        if own != cell_uuid:
            raise exception.Forbidden(
                f"the user {caller.user!r} of the bus does not speak for cell {cell_uuid}; {_ASK}"
            )

    def forget(self, cell_uuid: str) -> None:
        """Let the next who reports for a cell speak for it."""
        self._database.write(lambda session: rows.forget(session, cell_uuid))
        self._known.clear()

    def _remembered(self, bus_user: str) -> str | None:
        cell_uuid, read_at = self._known.get(bus_user, (None, 0.0))
        return cell_uuid if boot_clock() - read_at < _REMEMBERED_SECONDS else None

    def _read(self, bus_user: str) -> str | None:
        with self._database.read() as session:
            return self._note(bus_user, rows.find(session, bus_user))

    def _claim(self, bus_user: str, cell_uuid: str) -> str | None:
        claimed = self._database.write(lambda session: rows.claim(session, bus_user, cell_uuid))
        return self._note(bus_user, claimed)

    def _note(self, bus_user: str, cell_uuid: str | None) -> str | None:
        if cell_uuid is None:
            self._known.pop(bus_user, None)
        else:
            self._known[bus_user] = (cell_uuid, boot_clock())
        return cell_uuid
