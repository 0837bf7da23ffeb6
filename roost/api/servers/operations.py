"""Operations on servers: written into the row by compare and swap, with an instance action.

The modules of actions begin an operation in the row, then cast to the host, as a hint; the cell's
sweeper resends a lost cast. Of two actions that race, one is refused.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from roost import exception, states
from roost.api.locator import ServerRef, missing
from roost.api.request import Call
from roost.cells import Cell
from roost.db.cell import actions, guest_config, instances
from roost.db.engine import Session, retried
from roost.db.types import utcnow
from roost.objects import InjectedFile, Instance, InstanceAction
from roost.operations.kinds import Kind


def begun(call: Call, instance_uuid: str, action: str) -> InstanceAction:
    """Return the record of an action without its end, which is written later."""
    return InstanceAction(
        instance_uuid=instance_uuid,
        action=action,
        request_id=call.context.request_id,
        user_id=call.context.user_id,
        project_id=call.context.project_id,
        start_time=utcnow(),
        finish_time=None,
        message=None,
        events=[],
    )


def done(call: Call, instance_uuid: str, action: str) -> InstanceAction:
    """Return the record of an action that ends with the transaction that records it."""
    record = begun(call, instance_uuid, action)
    record.finish_time = record.start_time
    return record


LOG = logging.getLogger(__name__)


def accept(
    call: Call,
    server_ref: ServerRef,
    kind: Kind,
    *,
    changes: Mapping[str, Any] | None = None,
    files: Sequence[InjectedFile] | None = None,
) -> Instance:
    """Write an operation into an instance's row, with a record, and return the updated instance.

    :param changes: other columns to change in the same transaction
    :param files: the guest's new files; None: they stay
    :raises roost.exception.Conflict: when the server's state does not allow the operation
    """
    instance, cell = server_ref.instance, server_ref.cell
    uuid = str(instance.uuid)
    if cell is None:
        raise refused(uuid, kind, vm_state=instance.vm_state, task_state=instance.task_state)
    if instance.host is None and instance.vm_state != states.BUILDING:
        raise exception.Conflict(f"Instance {uuid} is not ready")
    record = begun(call, uuid, kind.action)
    try:
        return _begin(cell, record, {**(changes or {}), "task_state": kind.first}, files)
    except exception.NotFound as error:
        raise missing(uuid) from error
    except exception.Conflict as error:
        found = error.details["found"]
        state = {"vm_state": found["vm_state"], "task_state": found["task_state"]}
        raise refused(uuid, kind, **state) from error


@retried
def _begin(
    cell: Cell,
    record: InstanceAction,
    changes: Mapping[str, Any],
    files: Sequence[InjectedFile] | None,
) -> Instance:
    """Change the row, if its state allows it, with files and record."""
    with cell.database.begin() as session:
        try:
            instances.update(session, record.instance_uuid, changes, expected={})
        except exception.Conflict:
            if not _is_recorded(session, record):  # else an earlier attempt was committed
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


def send(
    call: Call, server_ref: ServerRef, instance: Instance, kind: Kind, **parameters: str
) -> None:
    """Cast an operation to the host of an instance, with parameters that are not in the row."""
    assert server_ref.cell is not None
    LOG.info("[instance: %s] %s accepted", instance.uuid, kind)
    host = server_ref.cell.compute.on(str(instance.host))
    try:
        host.run(call.context, instance_uuid=str(instance.uuid), kind=kind.name, **parameters)
    except exception.Unavailable as error:
        LOG.warning(
            "[instance: %s] cast of %s to host %s failed, the sweeper resends it: %s",
            instance.uuid, kind, instance.host, error,
        )  # fmt: skip


def refused(uuid: str, kind: Kind, *, vm_state: str, task_state: str | None) -> exception.Conflict:
    """Return the error: for the vm state, if that does not allow it, else for the task state."""
    state = f"vm_state {vm_state}"
    if vm_state in kind.begins and task_state is not None:
        state = f"task_state {task_state}"
    return exception.Conflict(f"Cannot '{kind.action}' instance {uuid} while it is in {state}")
