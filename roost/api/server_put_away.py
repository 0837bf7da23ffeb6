"""Deleting servers so that they can be restored for a while, and restoring them.

What is wanted is written down first, in the API database, with the quota; then the cell is told. A
super-conductor tells a cell that could not be reached, and reclaims what nobody restored.
"""

import logging
from typing import Final

from roost import exception, states
from roost.api import server_tasks
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.whereabouts import Located, missing
from roost.cells import Cell, put_away
from roost.db.api import instance_mappings
from roost.db.api import put_away as mappings
from roost.db.cell import put_away as rows
from roost.db.engine import retried
from roost.objects import InstanceMapping

LOG = logging.getLogger(__name__)
_RESTORE: Final = "restore"


class ServerPutAway:
    """Puts servers away; as an action it restores one."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def put_away(self, call: Call, uuid: str) -> bool:
        """Let a user be rid of a server for now; one that is put away stays so.

        :returns: False when it is to be deleted for good: it was no server yet, is in ERROR or on
            no host, or is being deleted already
        :raises roost.exception.NotFound: when there is none, or none for this caller
        """
        mapping = self._let_go(call, uuid)
        if mapping is None:
            return False
        turn = mapping.turns
        try:
            cell = self._parts.cells.get(str(mapping.cell_uuid))
            done = put_away.put_away(cell, call.context, uuid, turn=turn)
        except exception.Unavailable as error:
            LOG.warning("%s: to be put away when its cell can be reached: %s", uuid, error)
            return True
        if done:
            self._note_heard(uuid, turn)
        return done

    def __call__(self, call: Call, located: Located) -> Answer:
        """Count the server again, and let it come back.

        :raises roost.exception.Conflict: when it is not put away
        :raises roost.exception.QuotaExceeded: when its project has no room for it any more
        """
        instance, cell = located.instance, located.cell
        uuid = str(instance.uuid)
        turn = None if cell is None else _turn(cell, uuid)
        if cell is None or turn is None or not self._take_back(uuid, turn):
            raise _refused(located)
        try:
            done = put_away.restore(cell, call.context, uuid, turn=turn + 1)
        except exception.Unavailable as error:
            LOG.warning("%s: to be restored when its cell can be reached: %s", uuid, error)
            return Answer()
        if not done:
            raise missing(uuid)  # deleted by force this moment
        self._note_heard(uuid, turn + 1)
        return Answer()

    @retried
    def _let_go(self, call: Call, uuid: str) -> InstanceMapping | None:
        """Let it count against nothing, and return its mapping; None: it cannot be put away."""
        with self._parts.api_database.begin() as session:
            mapping = instance_mappings.find(session, uuid)
            if mapping is None:
                raise missing(uuid)
            call.may_touch(mapping.project_id, name=f"Instance {uuid}")
            mappings.put_away(session, uuid)
            found = instance_mappings.get(session, uuid)
        return None if found.put_away_at is None or found.queued_for_delete else found

    @retried
    def _take_back(self, uuid: str, turn: int) -> bool:
        """Let it count again, if it does not; tell whether it was put away in this turn."""
        with self._parts.api_database.begin() as session:
            if mappings.take_back(session, uuid, turn=turn, defaults=self._parts.options.quota):
                return True
            found = instance_mappings.find(session, uuid)
            if found is None or found.queued_for_delete:
                raise missing(uuid)
            # somebody has, and the cell has not heard of it yet
            return bool(found.put_away_at is None and found.turns == turn + 1)

    @retried
    def _note_heard(self, uuid: str, turn: int) -> None:
        with self._parts.api_database.begin() as session:
            mappings.note_heard(session, uuid, turn=turn)


def _turn(cell: Cell, uuid: str) -> int | None:
    """Return the turn in which a server was put away; None: it is not, or something is under way.

    :raises roost.exception.NotFound: when it is gone
    """
    with cell.database.read() as session:
        heard = rows.find(session, uuid)
    if heard is None:
        raise missing(uuid)
    return heard.turn if heard.is_put_away and heard.is_at_rest else None


def _refused(located: Located) -> exception.Conflict:
    found = located.instance
    return server_tasks.refused(
        str(found.uuid),
        word=_RESTORE,
        task=states.RESTORING,
        vm_state=found.vm_state,
        task_state=found.task_state,
    )
