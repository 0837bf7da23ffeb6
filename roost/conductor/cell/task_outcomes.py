"""Outcomes of tasks: what the rows of instances say after power actions and the like.

Before: ``api/servers/actions.py`` wrote a task into the row and cast to the host; or
``compute/reconcile.py`` saw that a guest is not as its row says. After: the instance rests as its
host found the guest.

Images whose hosts did not make them (``db/cell/images.py``) are given up in the store; one whose
data had come is left.
"""

import dataclasses
import logging
import random
from collections.abc import Collection, Mapping, Sequence
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
from roost.rpc.compute import Compute
from roost.rpc.notifications import Notifier

LOG = logging.getLogger(__name__)
# What the history calls it when a guest did that by itself.
_BY_ITSELF: Final = {
    states.STOPPED: "stop",
    states.PAUSED: "pause",
    states.SUSPENDED: "suspend",
    states.RESCUED: "rescue",
}
_EXPECTABLE: Final = ("vm_state", "task_state")
# Where a server rests whose host went down over its task; others rest where they did before. How a
# guest is that was to come back, nobody knows: its row follows it.
_WITHOUT_HOST: Final = {
    **dict.fromkeys(states.REBUILD_TASKS, states.ERROR),
    states.SOFT_DELETING: states.SOFT_DELETED,
    states.RESTORING: states.ACTIVE,
}


@dataclasses.dataclass(frozen=True)
class ObservedGuest:
    """How a host found a guest: its power state, None: there is none; and what it did before.

    ``rescued``: it runs, or would run, from another image. ``failed``: it is not fit for use. And
    ``reason``: why it is not as it was asked for, in words for the user.
    """

    host: str
    power_state: int | None
    events: Sequence[InstanceActionEvent] = ()
    reason: str | None = None
    rescued: bool = False
    failed: bool = False


@dataclasses.dataclass(frozen=True)
class TaskOutcomes:
    """Keeps what rows say of guests true. All it needs arrives here.

    :param host: the name of this conductor's host, for the instances' history
    """

    host: str
    database: Database
    compute: Compute
    notifier: Notifier

    def whereabouts(
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
    def settle(
        self,
        context: RequestContext,
        instance_uuid: str,
        found: ObservedGuest,
        expected: Mapping[str, Any],
    ) -> None:
        """Let an instance rest as its guest was found, if its row is as expected.

        A guest that is gone means ERROR; of one whose power is unknown only the task ends. What
        could not be put away stays under its task: its host is told again, as of a delete.

        What a request asked for ends once: a late copy of its report finds the request over, and
        does not end another task of the same kind that the instance may be under by then.

        :raises roost.exception.Conflict: when the row is not as expected, or the request is over
        :raises roost.exception.NotFound: when the instance is gone
        :raises roost.exception.Invalid: when something else than states is expected
        """
        if not set(expected) <= set(_EXPECTABLE):
            raise exception.Invalid(f"expected may name only {', '.join(_EXPECTABLE)}")
        changes = _changes(found, expected)
        with self.database.begin() as session:
            image_id = images.waiting(session, instance_uuid) if found.reason else None
            instances.update(
                session, instance_uuid, changes, expected={"host": found.host, **expected}
            )
            if expected.get("task_state") is not None:
                _check_not_over(session, instance_uuid, context.request_id)
            if "task_state" in changes:
                images.forsake(session, instance_uuid, image_id)
            if expected.get("task_state") is not None:
                over = "task_state" in changes
                why = found.reason if over else None
                actions.add_events(session, instance_uuid, found.events, finish=over, message=why)
            elif (word := _BY_ITSELF.get(changes.get("vm_state", ""))) is not None:
                actions.start(session, _by_itself(context, instance_uuid, word, found))
            if changes.get("vm_state") == states.ERROR:
                guest_config.forget_secrets(session, instance_uuid)
                faults.add(session, _fault(instance_uuid, found))

    def resend(self, task: ExpiredLease) -> None:
        """Tell a host once more what it is to do; of a task that is over this has no effect."""
        with self.database.read() as session:
            asked = actions.request_under_way(session, task.instance_uuid)
        context = project_context(task.project_id, request_id=asked)
        LOG.info(
            "%s: telling %s again that it is %s", task.instance_uuid, task.host, task.task_state
        )
        host = self.compute.on(str(task.host))
        tell = host.do_task if task.task_state in states.LIFE_TASKS else host.change_power
        tell(context, instance_uuid=task.instance_uuid, task=task.task_state)

    def abandon(self, task: ExpiredLease, *, why: str | None = None) -> None:
        """End a task whose host is down, unless it has renewed its lease meanwhile.

        How the guest is by then, the host will see when it is back. A server that was being rebuilt
        is in ERROR: nobody knows whether it has a guest at all. An image that was being made is
        forsaken.

        :param why: in words for the user; None: the host is down
        """
        reason = why or f"The host of the server went down while it was {task.task_state}."
        if self._end(task, reason):
            LOG.warning("%s on %s: %s", task.instance_uuid, task.host, reason)

    @retried
    def _end(self, task: ExpiredLease, reason: str) -> bool:
        uuid, changes = task.instance_uuid, dict[str, Any](task_state=None)
        if task.task_state in _WITHOUT_HOST:
            changes["vm_state"] = _WITHOUT_HOST[task.task_state]
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
                guest_config.forget_secrets(session, uuid)
                faults.add(
                    session, _fault(uuid, ObservedGuest(str(task.host), None, reason=reason))
                )
        return True

    def notify(self, context: RequestContext, finding: HostFinding) -> None:
        """Tell those who listen what a host found amiss."""
        self.notifier.info(context, f"compute.reconcile.{finding.kind}", finding)

    def _gave_up(self, reason: str) -> InstanceActionEvent:
        name = "cell-conductor.give_up"
        return instant_event(name, host=self.host, result="Error", details=reason)


def _check_not_over(session: Session, instance_uuid: str, request_id: str) -> None:
    """Look, once the row is locked, that no report of the same request came before."""
    if actions.is_over(session, instance_uuid, request_id):
        raise exception.Conflict(f"Instance {instance_uuid}: {request_id} is over already.")


def _changes(found: ObservedGuest, expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return what to write: for one at rest that is as it was, only the power state."""
    if expected.get("task_state") == states.SOFT_DELETING:
        return _put_away(found)
    if found.power_state is None or found.failed:
        power_state = found.power_state or states.NOSTATE
        return {"vm_state": states.ERROR, "task_state": None, "power_state": power_state}
    changes: dict[str, Any] = {"power_state": found.power_state}
    under_task = expected.get("task_state") is not None
    if under_task:
        changes["task_state"] = None
    vm_state = _rests(found, expected)
    if vm_state is not None and (under_task or vm_state != expected.get("vm_state")):
        changes["vm_state"] = vm_state
    return changes


def _put_away(found: ObservedGuest) -> dict[str, Any]:
    """Return what to write of one that was to be put away; nothing: its guest still is there."""
    if found.power_state is not None and found.reason is not None:
        return {}
    power_state = found.power_state or states.NOSTATE
    return {"vm_state": states.SOFT_DELETED, "task_state": None, "power_state": power_state}


def _rests(found: ObservedGuest, expected: Mapping[str, Any]) -> str | None:
    """Return the state that an instance is in by its guest; None: the one that it was in."""
    if expected.get("vm_state") == states.SOFT_DELETED:
        return None
    vm_state = states.as_found(found.power_state or states.NOSTATE, rescued=found.rescued)
    if vm_state is None and expected.get("task_state") == states.RESTORING:
        return states.ACTIVE
    return vm_state


def _by_itself(
    context: RequestContext, instance_uuid: str, word: str, found: ObservedGuest
) -> InstanceAction:
    now = utcnow()
    return InstanceAction(
        instance_uuid=instance_uuid,
        action=word,
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
        message=found.reason or "The guest of this server is gone from its host.",
        details="; ".join(f"{each.host}: {each.details}" for each in failed) or None,
        host=found.host,
        created_at=utcnow(),
    )


_AT_ONCE: Final = 100


@dataclasses.dataclass(frozen=True)
class AbandonedImages:
    """Lets the images of a cell go. Any number do this side by side."""

    database: Database
    store: ImageStore

    def sweep(self) -> None:
        """Ask the store to give up each; what it refuses is left to operators, with a word.

        :raises roost.exception.Unavailable: when the store does not answer; then all that are left
            wait for the next sweep
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
            LOG.warning("%s: its image %s stays without data: %s", of, image_id, error.message)
        else:
            LOG.info("%s: image %s waits no more for its data", of, image_id)

    @retried
    def _forget(self, image_id: str) -> None:
        with self.database.begin() as session:
            images.forget(session, image_id)
