"""Ending servers."""

import logging

from roost import exception
from roost.api import server_locks
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.server_put_away import ServerPutAway
from roost.api.validation import is_uuid
from roost.api.whereabouts import Located, Whereabouts, missing
from roost.db.api import instance_mappings
from roost.db.engine import retried
from roost.objects import InstanceMapping

LOG = logging.getLogger(__name__)


class ServerDelete:
    """Lets users be rid of a server now; the rest follows by itself.

    Where servers are kept for a while (``reclaim_instance_interval``), one that can be put away is:
    see ``server_put_away.py``. This is the end of others, and of all that are deleted by force.

    What is durable is done first, in one transaction of the API database: a wish is withdrawn,
    anything else queued for deletion. From there on a super-conductor sees to the end, so a cell
    that is away does not keep the user waiting.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)
        self._put_away = ServerPutAway(parts)
        self._locks = server_locks.ServerLocks(parts)

    def delete(self, call: Call) -> Answer:
        uuid = call.params["server_id"]
        if not is_uuid(uuid):
            raise missing(uuid)
        self._refuse_locked(call, uuid)
        if self._parts.options.keeps_deleted and self._put_away.put_away(call, uuid):
            return Answer()
        return self._end(call, uuid)

    def force(self, call: Call, located: Located) -> Answer:
        """Delete a server that was found, and is not locked."""
        return self._end(call, str(located.instance.uuid))

    def _refuse_locked(self, call: Call, uuid: str) -> None:
        """Raise :class:`roost.exception.Conflict` if it is locked for this caller.

        Its cell tells; while that is away, its mapping.
        """
        try:
            located = self._whereabouts.find(call, uuid)
        except exception.NotFound:
            return  # what follows says so
        except exception.Unavailable:
            self._locks.refuse_without_cell(call, uuid)
        else:
            server_locks.refuse(call, located.instance)

    def _end(self, call: Call, uuid: str) -> Answer:
        mapping = self._let_go(call, uuid)
        if mapping is None or mapping.cell_uuid is None:
            return Answer()
        try:
            ended = self._parts.cells.get(mapping.cell_uuid).end_instance(call.context, uuid)
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
        with self._parts.api_database.begin() as session:
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
