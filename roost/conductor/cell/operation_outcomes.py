"""Outcomes of operations, and of what guests did by themselves: records the states of instances.

Before: the API wrote the operation's task into the row and cast to the host; or
``compute/reconcile.py`` saw that a guest differs from its row. After: the instance has no task, and
the state of its guest.
"""

import dataclasses
import datetime
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception, states
from roost.conductor.cell.builds import refuse_others, root_name
from roost.conductor.failures import instant_event
from roost.conductor.notifications import ServerNotifications
from roost.context import RequestContext, project_context
from roost.db.cell import (
    actions,
    faults,
    guest_config,
    instance_locations,
    instances,
    left_behind,
    migrations,
    operations,
    services,
)
from roost.db.cell.operations import OverdueOperation
from roost.db.engine import Database, Session, retried
from roost.db.types import utcnow
from roost.objects import (
    HostFinding,
    InstanceAction,
    InstanceActionEvent,
    InstanceFault,
    InstanceLocation,
    Operation,
)
from roost.operations import kinds
from roost.operations.kinds import BY_ITSELF, RESTORE, Kind
from roost.rpc.compute import Compute
from roost.rpc.notifications import Notifier

LOG = logging.getLogger(__name__)
_ADVANCEABLE: Final = ("task_state", "image", "launched_at")
_COPIED: Final = ("disk_total_bytes", "disk_processed_bytes")
_NO_GUEST: Final = "The guest of this server was not found on its host."


@dataclasses.dataclass(frozen=True)
class ObservedGuest:
    """A guest as its host found it: its power state, None: there is none; and the host's events.

    ``vm_state``: of a server with this guest; None: the hypervisor cannot describe it. ``reason``:
    why the task failed, for the user. ``failed``: the guest is unusable.
    """

    host: str
    power_state: int | None
    vm_state: str | None = None
    events: Sequence[InstanceActionEvent] = ()
    reason: str | None = None
    failed: bool = False


@dataclasses.dataclass(frozen=True)
class OperationOutcomes:
    """Updates the rows of instances by the states of their guests.

    :param host: the name of this conductor's host, for the instances' history
    """

    host: str
    database: Database
    compute: Compute
    notifier: Notifier

    @property
    def notifications(self) -> ServerNotifications:
        return ServerNotifications(self.database, self.notifier)

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
            self.database.write(left_behind.forget, host, gone)
        return found

    def take_up(
        self, context: RequestContext, operation: Operation, *, seconds: float
    ) -> Operation | None:
        """Give a host a lease on its operation; None: it is over, or another host's.

        A host that is forced down gets none: the sweeper ends the operation, or goes on without it.

        Its image, its instance and its migration come with it, if the kind reads them.

        :param seconds: the length of the lease
        """
        until = self.database.now() + datetime.timedelta(seconds=seconds)
        found = self._take_up(operation, until)
        if found is not None:
            self.notifications.begun(context, operation)
        return found

    @retried
    def _take_up(self, operation: Operation, until: datetime.datetime) -> Operation | None:
        with self.database.begin() as session:
            if services.is_forced_down(session, operation.host):
                return None
            if not operations.take_up(session, operation, until=until):
                return None
            kind, step = kinds.get(operation.kind), operation.step
            reads_instance = (kind if step is None else kind.step(step)).reads_instance
            if step is None and not reads_instance:
                return operation
            found = operations.find(session, operation.instance_uuid)
            if found is not None and step is not None:
                found.migration = migrations.unfinished(session, found.instance_uuid)
            if found is not None and reads_instance:
                found.instance = guest_config.get_instance(session, found.instance_uuid)
            return found

    @retried
    def advance(self, operation: Operation, changes: Mapping[str, Any]) -> None:
        """Change the instance in the middle of an operation: to its next task state, mostly.

        :raises roost.exception.Conflict: when the operation is over, or another host's
        :raises roost.exception.Invalid: for a field that hosts may not change, or a task of another
        """
        refuse_others("changes", changes, _ADVANCEABLE)
        uuid, kind = operation.instance_uuid, kinds.get(operation.kind)
        if changes["task_state"] not in kind.tasks:
            raise exception.Invalid(f"{kind} has no task state {changes['task_state']}")
        expected = {"host": operation.host, "task_state": kind.tasks}
        with self.database.begin() as session:
            if "image" in changes:
                name = root_name(session, uuid, changes["image"])
                changes = {**changes, "root_device_name": name}
            instances.update(session, uuid, changes, expected=expected)
            operations.check(session, operation)

    @retried
    def note_copied(self, operation: Operation, copied: Mapping[str, int]) -> None:
        """Note in its migration how many bytes of the disks of a moving guest are copied.

        :raises roost.exception.Conflict: when the move is over, or in another step
        :raises roost.exception.Invalid: for a field that hosts may not change
        """
        refuse_others("changes", copied, _COPIED)
        with self.database.begin() as session:
            if not operations.is_under_way(session, operation):
                raise exception.Conflict(f"{operation.host} is not to do {operation.step} any more")
            migrations.note_copied(session, operation.instance_uuid, copied)

    def end(self, context: RequestContext, operation: Operation, found: ObservedGuest) -> None:
        """End an operation, and set the state of its instance by its guest.

        Without a guest, or when it is unusable, the state is ERROR; with an unknown power state
        only the task ends. An operation that insists goes on after a failure: the sweeper sends it
        again.

        :raises roost.exception.Conflict: when the operation is over, or another host's
        :raises roost.exception.NotFound: when the instance does not exist
        """
        kind = kinds.get(operation.kind)
        changes = _after(kind, found)
        self._end(operation, found, changes)
        if changes:
            self.notifications.ended(context, operation, _failure(kind, found, changes))

    @retried
    def _end(self, operation: Operation, found: ObservedGuest, changes: Mapping[str, Any]) -> None:
        uuid, kind = operation.instance_uuid, kinds.get(operation.kind)
        with self.database.begin() as session:
            expected = {"host": found.host, "task_state": kind.tasks}
            instances.update(session, uuid, changes, expected=expected)
            if not changes:
                operations.check(session, operation)
                actions.add_to_operation(session, operation.uuid, found.events)
                return
            own = {"instance_uuid": uuid, "host": found.host, "kind": kind.name, "step": None}
            operations.end(
                session, operation.uuid, found.events, expected=own, message=found.reason
            )
            if changes.get("vm_state") == states.ERROR:
                _note_error(session, uuid, found)

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
                _note_error(session, instance_uuid, found)

    def resend(self, operation: OverdueOperation) -> None:
        """Send an operation to its host again; the host ignores one that is over."""
        context = project_context(operation.project_id, request_id=operation.request_id)
        names = {name: getattr(operation, name) for name in operations.NAMES}
        self.compute.on(operation.host).run(context, operation=Operation.of(**names))
        LOG.info(
            "[instance: %s] %s resent to %s",
            operation.instance_uuid, operation.kind, operation.host,
        )  # fmt: skip
        why = f"{operation.host} did not go on with it; it was sent there again"
        self.database.write(operations.note_try, operation, self._event("resend", why))

    def abandon(self, operation: OverdueOperation, why: str) -> None:
        """End an operation without its host, unless the host has renewed its lease meanwhile.

        The host will report the guest's state when it can.

        :param why: the reason for the user
        """
        if self._abandon(operation, why):
            LOG.warning(
                "[instance: %s] %s ended without %s: %s",
                operation.instance_uuid, operation.kind, operation.host, why,
            )  # fmt: skip
            insists = kinds.get(operation.kind).insists  # then it has come to its end so
            context = project_context(operation.project_id, request_id=operation.request_id)
            self.notifications.ended(context, operation, None if insists else why)

    def _abandon(self, operation: OverdueOperation, why: str) -> bool:
        event = self._event("give_up", why)
        try:
            self.database.write(_end_without_host, operation, event)
        except (exception.Conflict, exception.NotFound):
            return False
        return True

    def notify(self, context: RequestContext, finding: HostFinding) -> None:
        """Send a notification of a host's finding."""
        self.notifier.info(context, f"compute.reconcile.{finding.kind}", finding)

    def _event(self, name: str, details: str) -> InstanceActionEvent:
        name = f"cell-conductor.{name}"
        return instant_event(name, host=self.host, result="Error", details=details)


def _end_without_host(
    session: Session, operation: OverdueOperation, event: InstanceActionEvent
) -> None:
    uuid, kind = operation.instance_uuid, kinds.get(operation.kind)
    changes: dict[str, Any] = {"task_state": None}
    if kind.without_host is not None:
        changes["vm_state"] = kind.without_host
    expected = {"host": operation.host, "task_state": kind.tasks}
    try:
        instances.update(session, uuid, changes, expected=expected)
    except (exception.Conflict, exception.NotFound):  # the instance has no such task: end the row
        changes = {}
    if changes.get("vm_state") == states.ERROR:
        events = [*actions.events_of(session, operation.uuid), event]
        _note_error(session, uuid, ObservedGuest(operation.host, None, None, events, event.details))
    own = {"host": operation.host, "lease_until": operation.lease_until}
    operations.end(session, operation.uuid, [event], expected=own, message=event.details)


def _note_error(session: Session, instance_uuid: str, found: ObservedGuest) -> None:
    guest_config.forget_secrets(session, instance_uuid)
    faults.add(session, _fault(instance_uuid, found))


def _after(kind: Kind, found: ObservedGuest) -> dict[str, Any]:
    """Return the changes of the row after an operation; none if it must be done again."""
    power_state = found.power_state or states.NOSTATE
    changes: dict[str, Any] = {"task_state": None, "power_state": power_state}
    if kind.insists:
        if found.power_state is not None and found.reason is not None:
            return {}
        return changes | {"vm_state": kind.leads_to}
    if found.power_state is None or found.failed:
        return changes | {"vm_state": states.ERROR}
    vm_state = found.vm_state
    if vm_state is None and kind is RESTORE:
        vm_state = states.ACTIVE
    return changes if vm_state is None else changes | {"vm_state": vm_state}


def _failure(kind: Kind, found: ObservedGuest, changes: Mapping[str, Any]) -> str | None:
    """Return why an operation with these changes has failed; None: it has not."""
    if changes.get("vm_state") == states.ERROR:
        return found.reason or _NO_GUEST
    return None if kind.insists else found.reason


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
    if found.vm_state in (None, before) or before in (states.SOFT_DELETED, states.RESIZED):
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


def _fault(instance_uuid: str, found: ObservedGuest) -> InstanceFault:
    failed = [each for each in found.events if each.details and each.result == "Error"]
    return InstanceFault(
        instance_uuid=instance_uuid,
        code=500,
        message=found.reason or _NO_GUEST,
        details="; ".join(map(_as_text, failed)) or None,
        host=found.host,
        created_at=utcnow(),
    )


def _as_text(event: InstanceActionEvent) -> str:
    return f"{event.start_time:%Y-%m-%dT%H:%M:%SZ} {event.host}: {event.details}"
