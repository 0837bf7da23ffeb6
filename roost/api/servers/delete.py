"""Server delete: at once, or as a soft delete that can be restored for a while.

What is wanted is first written into the API database, with the quota; then the cell is notified. A
super-conductor notifies a cell that could not be reached, and reclaims what nobody restored.
"""

import logging
from typing import Final

from roost import exception, states
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator, ServerRef, missing
from roost.api.request import Answer, Call
from roost.api.servers import locks, tasks
from roost.api.validation import is_uuid
from roost.cells import Cell
from roost.cells import cell as cells_cell
from roost.db.api import instance_mappings
from roost.db.api import soft_delete as mappings
from roost.db.cell import soft_delete as rows
from roost.db.engine import retried
from roost.objects import InstanceMapping

LOG = logging.getLogger(__name__)
_RESTORE: Final = "restore"


class ServerSoftDelete:
    """Puts servers away; as an action it restores one."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies

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
            cell = self._dependencies.cells.get(str(mapping.cell_uuid))
            done = cells_cell.soft_delete(cell, call.context, uuid, turn=turn)
        except exception.Unavailable as error:
            LOG.warning("%s: to be put away when its cell can be reached: %s", uuid, error)
            return True
        if done:
            self._note_heard(uuid, turn)
        return done

    def __call__(self, call: Call, server_ref: ServerRef) -> Answer:
        """Count the server again, and let it come back.

        :raises roost.exception.Conflict: when it is not put away
        :raises roost.exception.QuotaExceeded: when its project has no room for it any more
        """
        instance, cell = server_ref.instance, server_ref.cell
        uuid = str(instance.uuid)
        turn = None if cell is None else _turn(cell, uuid)
        if cell is None or turn is None or not self._take_back(uuid, turn):
            raise _refused(server_ref)
        try:
            done = cells_cell.restore(cell, call.context, uuid, turn=turn + 1)
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
        with self._dependencies.api_database.begin() as session:
            mapping = instance_mappings.find(session, uuid)
            if mapping is None:
                raise missing(uuid)
            call.may_touch(mapping.project_id, name=f"Instance {uuid}")
            mappings.soft_delete(session, uuid)
            found = instance_mappings.get(session, uuid)
        return None if found.put_away_at is None or found.queued_for_delete else found

    @retried
    def _take_back(self, uuid: str, turn: int) -> bool:
        """Let it count again, if it does not; tell whether it was put away in this turn."""
        with self._dependencies.api_database.begin() as session:
            if mappings.take_back(
                session, uuid, turn=turn, defaults=self._dependencies.options.quota
            ):
                return True
            found = instance_mappings.find(session, uuid)
            if found is None or found.queued_for_delete:
                raise missing(uuid)
            # somebody has, and the cell has not heard of it yet
            return bool(found.put_away_at is None and found.turns == turn + 1)

    @retried
    def _note_heard(self, uuid: str, turn: int) -> None:
        with self._dependencies.api_database.begin() as session:
            mappings.note_heard(session, uuid, turn=turn)


def _turn(cell: Cell, uuid: str) -> int | None:
    """Return the turn in which a server was put away; None: it is not, or something is under way.

    :raises roost.exception.NotFound: when it is gone
    """
    with cell.database.read() as session:
        heard = rows.find(session, uuid)
    if heard is None:
        raise missing(uuid)
    return heard.turn if heard.is_soft_deleted and heard.is_at_rest else None


def _refused(server_ref: ServerRef) -> exception.Conflict:
    found = server_ref.instance
    return tasks.refused(
        str(found.uuid),
        word=_RESTORE,
        task=states.RESTORING,
        vm_state=found.vm_state,
        task_state=found.task_state,
    )


class ServerDelete:
    """Lets users be rid of a server now; the rest follows by itself.

    Where servers are kept for a while (``reclaim_instance_interval``), one that can be put away is:
    see ``delete.py``. This is the end of others, and of all that are deleted by force.

    What is durable is done first, in one transaction of the API database: a wish is withdrawn,
    anything else queued for deletion. From there on a super-conductor sees to the end, so a cell
    that goes away meanwhile, or its bus, does not keep the user waiting.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)
        self._put_away = ServerSoftDelete(dependencies)

    def delete(self, call: Call) -> Answer:
        uuid = call.params["server_id"]
        if not is_uuid(uuid):
            raise missing(uuid)
        self._refuse_locked(call, uuid)
        if self._dependencies.options.keeps_deleted and self._put_away.put_away(call, uuid):
            return Answer()
        return self._end(call, uuid)

    def force(self, call: Call, server_ref: ServerRef) -> Answer:
        """Delete a server that was found, and is not locked."""
        return self._end(call, str(server_ref.instance.uuid))

    def _refuse_locked(self, call: Call, uuid: str) -> None:
        """Raise :class:`roost.exception.Conflict` if it is locked for this caller.

        :raises roost.exception.Unavailable: while its cell, which knows that, cannot be read
        """
        try:
            server_ref = self._locator.find(call, uuid)
        except exception.NotFound:
            return  # what follows says so
        locks.refuse(call, server_ref.instance)

    def _end(self, call: Call, uuid: str) -> Answer:
        mapping = self._let_go(call, uuid)
        if mapping is None or mapping.cell_uuid is None:
            return Answer()
        try:
            ended = self._dependencies.cells.get(mapping.cell_uuid).end_instance(call.context, uuid)
        except exception.Unavailable as error:
            if mapping.queued_for_delete:
                raise missing(uuid) from error
            LOG.warning("%s: to be deleted when its cell can be reached: %s", uuid, error)
            return Answer()
        if not ended and mapping.queued_for_delete:
            raise missing(uuid)
        return Answer()

    def _let_go(self, call: Call, uuid: str) -> InstanceMapping | None:
        """Withdraw a wish (None), or queue the instance; return its mapping as found.

        A wish that cannot be withdrawn was placed this moment: a new transaction sees where.
        """
        for _ in range(2):
            done, mapping = self._try_to_let_go(call, uuid, seen=[])
            if done:
                return mapping
        raise exception.Conflict(f"Instance {uuid} is being placed; try again in a moment.")

    @retried
    def _try_to_let_go(
        self, call: Call, uuid: str, *, seen: list[InstanceMapping]
    ) -> tuple[bool, InstanceMapping | None]:
        """``seen``: the mapping as it was when this was tried before, which may have worked."""
        with self._dependencies.api_database.begin() as session:
            mapping = instance_mappings.find(session, uuid)
            if seen and _is_let_go(mapping, before=seen[0]):
                return True, None
            if mapping is None:
                raise missing(uuid)
            call.may_touch(mapping.project_id, name=f"Instance {uuid}")
            seen.append(mapping)
            if mapping.cell_uuid is None:
                return instance_mappings.withdraw(session, uuid), None
            instance_mappings.queue_for_delete(session, uuid)
            return True, seen[0] if seen[0].cell_uuid else mapping


def _is_let_go(mapping: InstanceMapping | None, *, before: InstanceMapping) -> bool:
    """Tell whether an earlier try, whose answer was lost, has withdrawn a wish or ended it all."""
    return mapping is None or (before.cell_uuid is None and mapping.queued_for_delete)
