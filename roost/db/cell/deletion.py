"""Deletes of instances in their cell: how they begin, and the end of all that an instance has."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception, states
from roost.db.cell import actions, instances, migrations, operations, ports
from roost.db.engine import Session
from roost.objects import InstanceAction, InstanceActionEvent, Operation
from roost.objects.migration import CONFIRMED, FAILED
from roost.operations.kinds import DELETE, KINDS

_MOVING: Final = {task for kind in KINDS.values() if kind.is_move for task in kind.tasks}


def begin(session: Session, record: InstanceAction, *, uuid: str) -> list[Operation]:
    """Begin to delete an instance, or delete its row, if it never was on a host; repeatable.

    A conductor deletes one that has left its host, as it has ports. One that moves is on two hosts.
    The migration of one that waits for its user counts as confirmed.

    :param uuid: of the operation
    :returns: the operation for each host; none: the row is deleted, or a conductor's sweep does it
    :raises roost.exception.NotFound: when it is deleted
    """
    instance = instances.find_state(session, str(record.instance_uuid))
    if instance is None:
        raise exception.NotFound(f"Instance {record.instance_uuid} could not be found.")
    if instance.host is None and instance.vm_state != states.SHELVED_OFFLOADED:
        record.finish_time = record.start_time
        actions.start(session, record)
        _delete(session, instance.uuid)
        return []
    if instance.task_state == states.DELETING:
        under_way = operations.find(session, instance.uuid)
        if under_way is not None:
            return [under_way] if under_way.host is not None else []
    operation = operations.start(session, DELETE, record, uuid=uuid, instance=instance)
    if instance.host is None:
        return []
    waits = instance.vm_state == states.RESIZED
    moves = instance.task_state in _MOVING
    left = None
    if waits or moves:
        stays = waits and instance.task_state != states.RESIZE_REVERTING
        status = CONFIRMED if stays else FAILED
        left = migrations.end(session, instance.uuid, status=status, stays_on=instance.host)
    if left is None:
        return [operation]
    return [operation, operations.named(operation, host=left)]


def finish(
    session: Session,
    operation: Operation,
    events: Sequence[InstanceActionEvent],
    *,
    expected: Mapping[str, Any],
) -> None:
    """End the delete, and delete the instance with all that it has in its cell.

    :param expected: see :func:`roost.db.cell.operations.end`
    :raises roost.exception.Conflict: when it is over, or not as expected
    """
    _delete(session, str(operation.instance_uuid))
    operations.end(session, operation.uuid, events, expected=expected, message=None)


def _delete(session: Session, instance_uuid: str) -> None:
    ports.free(session, instance_uuid)
    instances.mark_deleted(session, instance_uuid)
