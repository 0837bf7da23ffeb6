"""Tasks of servers: written into the row by compare and swap, with a record in the history.

The modules of actions call this: they say what is to be done, then cast to the host, as a hint; the
row says it, too, and the cell's sweeper sends a lost cast again. Of two actions that race, one is
refused.
"""

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from roost import exception, states
from roost.api.locator import ServerRef, missing
from roost.api.request import Call
from roost.cells import Cell
from roost.db.cell import actions, guest_config, instances
from roost.db.engine import Session, retried
from roost.db.types import utcnow
from roost.objects import InjectedFile, Instance, InstanceAction
from roost.rpc.compute import Compute


def begun(call: Call, instance_uuid: str, word: str) -> InstanceAction:
    """Return the record of an action whose end somebody else will write down."""
    return InstanceAction(
        instance_uuid=instance_uuid,
        action=word,
        request_id=call.context.request_id,
        user_id=call.context.user_id,
        project_id=call.context.project_id,
        start_time=utcnow(),
        finish_time=None,
        message=None,
        events=[],
    )


def done(call: Call, instance_uuid: str, word: str) -> InstanceAction:
    """Return the record of an action that is over with the transaction that records it."""
    record = begun(call, instance_uuid, word)
    record.finish_time = record.start_time
    return record


LOG = logging.getLogger(__name__)


def put_under(
    call: Call,
    server_ref: ServerRef,
    *,
    word: str,
    task: str,
    changes: Mapping[str, Any] | None = None,
    files: Sequence[InjectedFile] | None = None,
) -> Instance:
    """Put an instance under a task, with an action on record, and return it as it is then.

    :param word: what records and messages call the action
    :param changes: what else changes in its row at once
    :param files: what the guest finds in place of those it had; None: the same
    :raises roost.exception.Conflict: when that cannot be done to a server in its state
    """
    instance, cell = server_ref.instance, server_ref.cell
    uuid = str(instance.uuid)
    refusal = functools.partial(refused, uuid, word=word, task=task)
    if cell is None:
        raise refusal(vm_state=instance.vm_state, task_state=instance.task_state)
    if instance.host is None and instance.vm_state != states.BUILDING:
        raise exception.Conflict(f"Instance {uuid} is not ready")
    record = begun(call, uuid, word)
    try:
        return _begin(cell, record, {**(changes or {}), "task_state": task}, files)
    except exception.NotFound as error:
        raise missing(uuid) from error
    except exception.Conflict as error:
        found = error.details["found"]
        raise refusal(vm_state=found["vm_state"], task_state=found["task_state"]) from error


@retried
def _begin(
    cell: Cell,
    record: InstanceAction,
    changes: Mapping[str, Any],
    files: Sequence[InjectedFile] | None,
) -> Instance:
    """Change the row, if its state lets it, and what goes with it."""
    with cell.database.begin() as session:
        try:
            instances.update(session, record.instance_uuid, changes, expected={})
        except exception.Conflict:
            if not _is_recorded(session, record):  # else it was committed, and nobody said so
                raise
        else:
            if files is not None:
                guest_config.put_files(session, record.instance_uuid, files)
        actions.start(session, record)
        return instances.get(session, record.instance_uuid)


def _is_recorded(session: Session, record: InstanceAction) -> bool:
    try:
        return actions.get(session, record.instance_uuid, record.request_id).action == record.action
    except exception.NotFound:
        return False


def cast_to_host(
    server_ref: ServerRef, instance: Instance, send: Callable[[Compute], None]
) -> None:
    """Send a hint to the host of an instance; the row says it, too."""
    assert server_ref.cell is not None
    try:
        send(server_ref.cell.compute.on(str(instance.host)))
    except exception.Unavailable as error:
        LOG.warning(
            "%s: host %s does not know yet that it is %s: %s",
            instance.uuid, instance.host, instance.task_state, error,
        )  # fmt: skip


def do(call: Call, server_ref: ServerRef, instance: Instance, **told: str) -> None:
    """Tell the host of an instance to do its task, with what only this message knows."""
    task = {"instance_uuid": str(instance.uuid), "task": str(instance.task_state)}
    cast_to_host(server_ref, instance, lambda host: host.do_task(call.context, **task, **told))


def refused(
    uuid: str, *, word: str, task: str, vm_state: str, task_state: str | None
) -> exception.Conflict:
    """Return the refusal: for its vm state, if no task would do, else for the task under way.

    :param word: what records and messages call the action
    """
    for_vm = {before.vm for before in states.MOVES if _may_begin(before, task)}
    state = f"vm_state {vm_state}"
    if vm_state in for_vm and task_state is not None:
        state = f"task_state {task_state}"
    return exception.Conflict(f"Cannot '{word}' instance {uuid} while it is in {state}")


def _may_begin(before: states.State, task: str) -> bool:
    return states.may_follow(before, states.State(before.vm, task))
