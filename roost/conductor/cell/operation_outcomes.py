"""Outcomes of operations, and of what guests did by themselves: records the states of instances.

Before: the API wrote the operation's task into the row and cast to the host; or
``compute/reconcile.py`` saw that a guest differs from its row. After: the instance has no task, and
the state of its guest.

Images that no host will upload any more (``db/cell/images.py``) are abandoned in the store, unless
their data has arrived.
"""

import dataclasses
import logging
import random
from collections.abc import Collection, Sequence
from typing import Any, Final

from roost import exception, states
from roost.conductor.failures import instant_event
from roost.context import RequestContext, admin_context, project_context
from roost.db.cell import (
    actions,
    faults,
    guest_config,
    images,
    instance_locations,
    instances,
    left_behind,
)
from roost.db.cell.leases import ExpiredLease
from roost.db.engine import Database, Session, retried
from roost.db.types import utcnow
from roost.image.driver import ImageStore
from roost.objects import (
    HostFinding,
    InstanceAction,
    InstanceActionEvent,
    InstanceFault,
    InstanceLocation,
)
from roost.operations.kinds import BY_ITSELF, OF_TASK, RESTORE, Kind
from roost.rpc.compute import Compute
from roost.rpc.notifications import Notifier

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class ObservedGuest:
    """A guest as its host found it: its power state, None: there is none; and the host's events.

    ``rescued``: it has booted, or would boot, from another image. ``failed``: it is unusable.
    ``reason``: why the task failed, for the user.
    """

    host: str
    power_state: int | None
    events: Sequence[InstanceActionEvent] = ()
    reason: str | None = None
    rescued: bool = False
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
            self._forget_left_behind(host, gone)
        return found

    @retried
    def _forget_left_behind(self, host: str, instance_uuids: Collection[str]) -> None:
        with self.database.begin() as session:
            left_behind.forget(session, host, instance_uuids)

    @retried
    def end(
        self, context: RequestContext, instance_uuid: str, kind: Kind, found: ObservedGuest
    ) -> None:
        """Set the state of an instance after an operation, by its guest, and end its task.

        Without a guest, or when it is unusable, the state is ERROR; with an unknown power state
        only the task ends. An operation that insists keeps its task after a failure: the sweeper
        sends it again.

        A request ends once: a late copy of its report finds the request over, and does not end
        another operation of the same kind that the instance may have by then.

        :raises roost.exception.Conflict: when the row has no such operation on this host, or the
            request is over
        :raises roost.exception.NotFound: when the instance does not exist
        """
        changes = _after(kind, found)
        ends = "task_state" in changes
        with self.database.begin() as session:
            image_id = images.waiting(session, instance_uuid) if found.reason else None
            expected = {"host": found.host, "task_state": kind.tasks}
            instances.update(session, instance_uuid, changes, expected=expected)
            _check_not_over(session, instance_uuid, context.request_id)
            if ends:
                images.forsake(session, instance_uuid, image_id)
            message = found.reason if ends else None
            actions.add_events(session, instance_uuid, found.events, finish=ends, message=message)
            if changes.get("vm_state") == states.ERROR:
                _note_error(session, instance_uuid, found)

    @retried
    def settle(
        self, context: RequestContext, instance_uuid: str, found: ObservedGuest, *, vm_state: str
    ) -> None:
        """Set the state of an instance without a task by its guest, which changed by itself.

        Without a guest the state is ERROR; an unknown power state changes nothing else.

        :param vm_state: the state in which the row was seen
        :raises roost.exception.Conflict: when the row is not as it was seen
        :raises roost.exception.NotFound: when the instance does not exist
        """
        changes = _by_itself(found, vm_state)
        expected = {"host": found.host, "vm_state": vm_state, "task_state": None}
        with self.database.begin() as session:
            instances.update(session, instance_uuid, changes, expected=expected)
            if (action := BY_ITSELF.get(changes.get("vm_state", ""))) is not None:
                actions.start(session, _record(context, instance_uuid, action, found))
            if changes.get("vm_state") == states.ERROR:
                _note_error(session, instance_uuid, found)

    def resend(self, task: ExpiredLease) -> None:
        """Send an operation to its host again; the host ignores one that is over."""
        context = project_context(task.project_id, request_id=task.request_id)
        LOG.info("[instance: %s] %s resent to %s", task.instance_uuid, task.task_state, task.host)
        host = self.compute.on(str(task.host))
        host.run(context, instance_uuid=task.instance_uuid, kind=OF_TASK[task.task_state].name)

    def abandon(self, task: ExpiredLease, *, why: str | None = None) -> None:
        """End an operation whose host is down, unless the host has renewed its lease meanwhile.

        The host will report the guest's state when it is up again. An image that was being created
        is abandoned.

        :param why: the reason for the user; None: the host is down
        """
        reason = why or f"The host of the server went down while it was {task.task_state}."
        if self._end(task, reason):
            LOG.warning("[instance: %s] %s ended without %s: %s",
                        task.instance_uuid, task.task_state, task.host, reason)  # fmt: skip

    @retried
    def _end(self, task: ExpiredLease, reason: str) -> bool:
        uuid, changes = task.instance_uuid, dict[str, Any](task_state=None)
        without_host = OF_TASK[task.task_state].without_host
        if without_host is not None:
            changes["vm_state"] = without_host
        with self.database.begin() as session:
            image_id = images.waiting(session, uuid)
            try:
                instances.update(session, uuid, changes, expected=task.expected)
            except (exception.Conflict, exception.NotFound):
                return False
            images.forsake(session, uuid, image_id)
            event = self._gave_up(reason)
            actions.add_events(session, uuid, [event], finish=True, message=reason)
            if changes.get("vm_state") == states.ERROR:
                _note_error(session, uuid, ObservedGuest(str(task.host), None, reason=reason))
        return True

    def notify(self, context: RequestContext, finding: HostFinding) -> None:
        """Send a notification of a host's finding."""
        self.notifier.info(context, f"compute.reconcile.{finding.kind}", finding)

    def _gave_up(self, reason: str) -> InstanceActionEvent:
        name = "cell-conductor.give_up"
        return instant_event(name, host=self.host, result="Error", details=reason)


def _check_not_over(session: Session, instance_uuid: str, request_id: str) -> None:
    """Check, while the row is locked, that the request has not been reported before."""
    if actions.is_over(session, instance_uuid, request_id):
        raise exception.Conflict(f"Instance {instance_uuid}: {request_id} is over already.")


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
    vm_state = states.as_found(power_state, rescued=found.rescued)
    if vm_state is None and kind is RESTORE:
        vm_state = states.ACTIVE
    return changes if vm_state is None else changes | {"vm_state": vm_state}


def _by_itself(found: ObservedGuest, before: str) -> dict[str, Any]:
    """Return the changes of a row without a task; a soft-deleted server stays so with a guest."""
    if found.power_state is None:
        return {"vm_state": states.ERROR, "power_state": states.NOSTATE}
    changes: dict[str, Any] = {"power_state": found.power_state}
    vm_state = states.as_found(found.power_state, rescued=found.rescued)
    if vm_state in (None, before) or before == states.SOFT_DELETED:
        return changes
    return changes | {"vm_state": vm_state}


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
        message=found.reason or "The guest of this server was not found on its host.",
        details="; ".join(f"{each.host}: {each.details}" for each in failed) or None,
        host=found.host,
        created_at=utcnow(),
    )


_AT_ONCE: Final = 100


@dataclasses.dataclass(frozen=True)
class AbandonedImages:
    """Abandons images of a cell that get no data any more. Any number of processes may do so."""

    database: Database
    store: ImageStore

    def sweep(self) -> None:
        """Abandon each image in the store; log those that the store refuses.

        :raises roost.exception.Unavailable: when the store does not answer; then the remaining
            images wait for the next sweep
        """
        with self.database.read() as session:
            found = images.list_forsaken(session, limit=_AT_ONCE)
        for image_id in random.sample([*found], len(found)):  # not always the same one first
            self._abandon(image_id, of=found[image_id])
            self._forget(image_id)

    def _abandon(self, image_id: str, *, of: str) -> None:
        try:
            self.store.abandon(admin_context(), image_id)
        except exception.Unavailable:
            raise
        except exception.RoostError as error:
            LOG.warning(
                "[instance: %s] image %s stays without data: %s", of, image_id, error.message
            )
        else:
            LOG.info("[instance: %s] image %s abandoned", of, image_id)

    @retried
    def _forget(self, image_id: str) -> None:
        with self.database.begin() as session:
            images.forget(session, image_id)
