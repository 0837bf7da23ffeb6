"""What guests did by themselves, and where hosts are to look for them.

Before: ``compute/reconcile.py`` saw that a guest differs from its row. After: the server has the
state of its guest.
"""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any, Final

from roost import states
from roost.conductor.cell.operations.reports import ObservedGuest, note_error
from roost.context import RequestContext
from roost.db.cell import actions, instance_locations, instances, left_behind, services
from roost.db.engine import Database, Session, retried
from roost.db.types import utcnow
from roost.objects import HostFinding, InstanceAction, InstanceLocation
from roost.operations.kinds import BY_ITSELF
from roost.rpc.notifications import Notifier

# A server in one of these stays in it, whatever its guest does by itself.
_KEPT: Final = (states.SOFT_DELETED, states.RESIZED, states.SHELVED)


@dataclasses.dataclass(frozen=True)
class GuestReports:
    """Updates the rows of servers without a task by the states of their guests."""

    database: Database
    notifier: Notifier

    def locate(
        self, host: str, instance_uuids: Sequence[str], *, and_others_here: bool
    ) -> list[InstanceLocation]:
        with self.database.read() as session:
            found = instance_locations.look(
                session, host, instance_uuids, and_others_here=and_others_here
            )
            left = left_behind.on_host(session, host) if and_others_here else set()
        gone = left.difference(instance_uuids)
        if gone:
            self.database.write(_forget, host, gone)
        return found

    @retried
    def settle(
        self, context: RequestContext, instance_uuid: str, found: ObservedGuest, *, seen: str
    ) -> None:
        """Set the state of an instance without a task by its guest, which changed by itself.

        Without a guest the state is ERROR; an unknown power state changes nothing else.

        :param seen: the vm state in which the row was seen
        :raises roost.exception.Conflict: when the row is not as it was seen
        :raises roost.exception.NotFound: when the instance does not exist
        """
        changes = _by_itself(found, seen)
        expected = {"host": found.host, "vm_state": seen, "task_state": None}
        with self.database.begin() as session:
            instances.update(session, instance_uuid, changes, expected=expected)
            if (action := BY_ITSELF.get(changes.get("vm_state", ""))) is not None:
                actions.start(session, _record(context, instance_uuid, action, found))
            if changes.get("vm_state") == states.ERROR:
                note_error(session, instance_uuid, found, events=found.events)

    def notify(self, context: RequestContext, finding: HostFinding) -> None:
        """Send a notification of a host's finding."""
        self.notifier.info(context, f"compute.reconcile.{finding.kind}", finding)


def _forget(session: Session, host: str, instance_uuids: Collection[str]) -> None:
    """Forget what a host has nothing of; what one that is forced down says is from before that."""
    if not services.is_forced_down(session, host):
        left_behind.forget(session, host, instance_uuids)


def _by_itself(found: ObservedGuest, before: str) -> dict[str, Any]:
    """Return the changes of a row without a task.

    One that is soft-deleted stays so while it has a guest; one that waits for a confirmation stays
    so even without: it may be reverted.
    """
    if found.power_state is None and before == states.RESIZED:
        return {"power_state": states.NOSTATE}
    if found.power_state is None:
        return {"vm_state": states.ERROR, "power_state": states.NOSTATE}
    changes: dict[str, Any] = {"power_state": found.power_state}
    if found.vm_state in (None, before) or before in _KEPT:
        return changes
    return changes | {"vm_state": found.vm_state}


def _record(
    context: RequestContext, instance_uuid: str, action: str, found: ObservedGuest
) -> InstanceAction:
    now = utcnow()
    return InstanceAction(
        instance_uuid=instance_uuid,
        action=action,
        request_id=context.request_id,
        user_id=None,
        project_id=None,
        start_time=now,
        finish_time=now,
        message=found.reason,
        events=list(found.events),
    )
