"""Soft deletes in a cell: servers that users have deleted, and can restore until reclaimed.

The API level sends the wanted state in numbered generations (``db/api/soft_delete.py``). A row
follows the latest it received (column ``turns``), so they may come late, twice and in any order.
"""

from typing import NamedTuple

import sqlalchemy as sa

from roost import exception, states
from roost.db.cell import actions, images, instances, models
from roost.db.engine import Session
from roost.objects import InstanceAction

_c = models.instances.c


class Synced(NamedTuple):
    """The state of a row: its generation, whether it is soft-deleted, or about to be, and idle."""

    turn: int
    is_soft_deleted: bool
    is_at_rest: bool


def find(session: Session, instance_uuid: str) -> Synced | None:
    """Return the generation and state of a live instance."""
    columns = (_c.turns, _c.vm_state, _c.task_state)
    query = sa.select(*columns).where(_c.uuid == instance_uuid, _c.deleted_at.is_(None))
    row = session.execute(query).one_or_none()
    if row is None:
        return None
    away = row.vm_state == states.SOFT_DELETED and row.task_state != states.RESTORING
    away = away or row.task_state == states.SOFT_DELETING
    return Synced(row.turns, away, row.task_state is None)


def soft_delete(session: Session, *, record: InstanceAction, turn: int) -> str | None:
    """Begin to soft-delete an instance, if the generation is new to it, and record the action.

    :returns: the host that is to do it; None: no host needs a message (any more)
    :raises roost.exception.Conflict: when it can only be deleted: it never was a server, is in
        ERROR or on no host, or is being deleted; nothing is changed then
    :raises roost.exception.NotFound: when it is deleted
    """
    return _begin(session, record, states.SOFT_DELETING, turn=turn)


def restore(session: Session, *, record: InstanceAction, turn: int) -> str | None:
    """Begin to restore a soft-deleted instance; like :func:`soft_delete`.

    :raises roost.exception.Conflict: when it is not soft-deleted
    :raises roost.exception.NotFound: when it is deleted
    """
    return _begin(session, record, states.RESTORING, turn=turn)


def _begin(session: Session, record: InstanceAction, task: str, *, turn: int) -> str | None:
    uuid = str(record.instance_uuid)
    if _is_news(session, uuid, turn):
        image_id = images.waiting(session, uuid)  # of a task that this one ends
        instances.update(session, uuid, {"task_state": task, "task_image": None}, expected={})
        images.forsake(session, uuid, image_id)
        actions.start(session, record)
    found = instances.get(session, uuid)
    if found.host is None:
        raise exception.Conflict(f"Instance {uuid} is on no host")
    return str(found.host) if found.task_state == task else None


def _is_news(session: Session, uuid: str, turn: int) -> bool:
    """Write a newer generation to the row, which locks it until the transaction ends."""
    here = (_c.uuid == uuid, _c.deleted_at.is_(None), _c.turns < turn)
    raised = session.execute(sa.update(models.instances).where(*here).values(turns=turn))
    return raised.rowcount == 1
