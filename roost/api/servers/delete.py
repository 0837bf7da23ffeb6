"""Server delete: at once, or as a soft delete that can be restored for a while.

The API first writes the request into the API database, with the quota, and then notifies the cell.
A super-conductor notifies cells that were unreachable, and reclaims servers that were not restored.
"""

import logging
from typing import Final

from roost import exception, states
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator, ServerRef, missing
from roost.api.policy import MEMBER, Rule
from roost.api.request import Answer, Call
from roost.api.servers import locks, operations
from roost.api.servers.server_action import action
from roost.api.validation import is_uuid
from roost.cells import cell as cells_cell
from roost.db.api import instance_mappings
from roost.db.api import soft_delete as mappings
from roost.db.engine import retried
from roost.objects import Instance, InstanceMapping
from roost.operations.kinds import RESTORE

LOG = logging.getLogger(__name__)
_RESTORE: Final = "restore"
_TRIES: Final = 3  # to settle what other requests have noted


class ServerSoftDelete:
    """Soft-deletes servers; as an action it restores one.

    A soft delete or restore that the mapping notes already is settled before another one is noted.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._database = dependencies.api_database
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)

    def soft_delete(self, call: Call, uuid: str) -> bool:
        """Soft-delete a server; one that is soft-deleted stays so.

        :returns: False when it cannot be soft-deleted: it is a build request, in ERROR or on
            no host, or is being deleted already
        :raises roost.exception.NotFound: when there is none, or none for this caller
        :raises roost.exception.Unavailable: when its restore does not reach its cell
        """
        for _ in range(_TRIES):
            mapping = self._write(call, uuid)
            if mapping.cell_uuid is None or mapping.queued_for_delete:
                return False
            if mapping.put_away_at is not None:
                return mapping.operation_uuid is None or self._settle_soon(call, mapping)
            if mapping.operation_uuid is not None:
                self._settle(call, mapping)
        raise _contended(uuid)

    def __call__(self, call: Call, server_ref: ServerRef) -> Answer:
        """Take the server's quota again, and restore it.

        :raises roost.exception.Conflict: when it is not soft-deleted
        :raises roost.exception.QuotaExceeded: when its project's quota does not suffice any more
        :raises roost.exception.Unavailable: when its soft delete does not reach its cell
        """
        uuid = str(server_ref.instance.uuid)
        if not self._settle_soon(call, self._take_back(call, uuid)):
            raise missing(uuid)  # force-deleted meanwhile
        return Answer()

    @retried
    def _write(self, call: Call, uuid: str) -> InstanceMapping:
        """Give its quota back, if it can be soft-deleted, and return its mapping."""
        with self._database.begin() as session:
            mapping = instance_mappings.find(session, uuid)
            if mapping is None:
                raise missing(uuid)
            call.may_touch(mapping.project_id, name=f"Instance {uuid}")
            return mappings.soft_delete(session, uuid)

    def _take_back(self, call: Call, uuid: str) -> InstanceMapping:
        """Take its quota again, unless another request has done so; return its mapping."""
        defaults = self._dependencies.options.quota
        for _ in range(_TRIES):
            mapping = self._database.query(instance_mappings.find, uuid)
            operations.check(self._locator.find(call, uuid), RESTORE)
            if mapping is None or mapping.queued_for_delete:
                raise missing(uuid)
            mapping = self._database.write(mappings.restore, mapping, defaults=defaults)
            if mapping.operation_uuid is not None:
                if mapping.put_away_at is None:
                    return mapping
                self._settle(call, mapping)
        raise _contended(uuid)

    def _settle(self, call: Call, mapping: InstanceMapping) -> bool:
        cell = self._dependencies.cells.get(str(mapping.cell_uuid))
        return cells_cell.settle_soft_delete(cell, self._database, call.context, mapping)

    def _settle_soon(self, call: Call, mapping: InstanceMapping) -> bool:
        """Settle what a mapping notes; a super-conductor does, when the cell is unavailable."""
        try:
            return self._settle(call, mapping)
        except exception.Unavailable as error:
            uuid, why = mapping.instance_uuid, error.message
            LOG.warning("[instance: %s] waits until its cell can be reached: %s", uuid, why)
            return True


def _contended(uuid: str) -> exception.Conflict:
    why = "is being deleted or restored by another request; try again in a moment."
    return exception.Conflict(f"Instance {uuid} {why}")


class ServerDelete:
    """Deletes servers.

    With ``reclaim_instance_interval``, servers that can be soft-deleted are. All others, and those
    that are deleted by force, are deleted for good.

    First one transaction of the API database withdraws the build request, or queues the instance
    for deletion. From then on a super-conductor completes the deletion, so users do not wait for a
    cell or bus that is unavailable.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)
        self._soft_delete = ServerSoftDelete(dependencies)

    def delete(self, call: Call) -> Answer:
        uuid = call.params["server_id"]
        if not is_uuid(uuid):
            raise missing(uuid)
        instance = self._find_unlocked(call, uuid)
        if self._dependencies.options.keeps_deleted and self._soft_delete.soft_delete(call, uuid):
            return Answer()
        answer = self._end(call, uuid)
        if instance is not None:
            self._forget_image(call, instance)
        return answer

    def force(self, call: Call, server_ref: ServerRef) -> Answer:
        """Delete a server that exists and is not locked."""
        answer = self._end(call, str(server_ref.instance.uuid))
        self._forget_image(call, server_ref.instance)
        return answer

    def _find_unlocked(self, call: Call, uuid: str) -> Instance | None:
        """Return the state of an instance; None: there is none, as the deletion will find, too.

        :raises roost.exception.Conflict: when it is locked for this caller
        :raises roost.exception.Unavailable: while its cell, which has the lock, cannot be read
        """
        try:
            instance = self._locator.find(call, uuid, state_only=True).instance
        except exception.NotFound:
            return None
        locks.refuse(call, instance)
        return instance

    def _forget_image(self, call: Call, instance: Instance) -> None:
        """Delete the image of a shelved server, which nobody needs without it."""
        if instance.vm_state not in (states.SHELVED, states.SHELVED_OFFLOADED):
            return
        image_id = str(instance.shelved_image_id)
        try:
            self._dependencies.images.delete(call.context, image_id)
        except exception.RoostError as error:
            LOG.warning("[instance: %s] its image %s could not be deleted: %s",
                        instance.uuid, image_id, error.message)  # fmt: skip

    def _end(self, call: Call, uuid: str) -> Answer:
        mapping = self._withdraw_or_queue(call, uuid)
        if mapping is None or mapping.cell_uuid is None:
            return Answer()
        try:
            ended = self._dependencies.cells.get(mapping.cell_uuid).end_instance(call.context, uuid)
        except exception.Unavailable as error:
            if mapping.queued_for_delete:
                raise missing(uuid) from error
            LOG.warning(
                "[instance: %s] delete waits until its cell can be reached: %s", uuid, error
            )
            return Answer()
        if not ended and mapping.queued_for_delete:
            raise missing(uuid)
        LOG.info("[instance: %s] delete accepted", uuid)
        return Answer()

    def _withdraw_or_queue(self, call: Call, uuid: str) -> InstanceMapping | None:
        """Withdraw a build request (None), or queue the instance; return its mapping as found.

        A build request that cannot be withdrawn has just been placed: a second attempt sees where.
        """
        for _ in range(2):
            done, mapping = self._try_withdraw_or_queue(call, uuid, seen=[])
            if done:
                return mapping
        raise exception.Conflict(f"Instance {uuid} is being placed; try again in a moment.")

    @retried
    def _try_withdraw_or_queue(
        self, call: Call, uuid: str, *, seen: list[InstanceMapping]
    ) -> tuple[bool, InstanceMapping | None]:
        """``seen``: the mapping before earlier attempts, which may have been committed."""
        with self._dependencies.api_database.begin() as session:
            mapping = instance_mappings.find(session, uuid)
            if seen and _is_withdrawn(mapping, before=seen[0]):
                return True, None
            if mapping is None or mapping.withdrawn:
                raise missing(uuid)
            call.may_touch(mapping.project_id, name=f"Instance {uuid}")
            seen.append(mapping)
            if mapping.cell_uuid is None:
                return instance_mappings.withdraw(session, uuid), None
            queued = instance_mappings.queue_for_delete(session, uuid, as_it_was=mapping)
            if queued is None:  # it is queued already, or has changed between two statements
                instance_mappings.queue_for_delete(session, uuid)
            return True, seen[0] if seen[0].cell_uuid else mapping


def _is_withdrawn(mapping: InstanceMapping | None, *, before: InstanceMapping) -> bool:
    """Return whether an earlier attempt was committed, whose response was lost."""
    return mapping is None or (before.cell_uuid is None and mapping.queued_for_delete)


_FORMERLY: Final = "os_compute_api:os-deferred-delete"

ACTIONS: Final = (
    action(
        "forceDelete",
        lambda dependencies: ServerDelete(dependencies).force,
        Rule(f"{_FORMERLY}:force", MEMBER, "Delete a server at once.", formerly=_FORMERLY),
    ),
    action(
        _RESTORE,
        ServerSoftDelete,
        Rule(
            f"{_FORMERLY}:restore",
            MEMBER,
            "Restore a server that was deleted, before it is reclaimed.",
            formerly=_FORMERLY,
        ),
    ),
)
