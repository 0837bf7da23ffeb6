"""Soft deletes in a cell: servers that users have deleted, and can restore until reclaimed.

What is wanted is said at API level, in numbered generations (``db/api/soft_delete.py``). A row
follows the latest that has come (column ``turns``), so they may come late, twice and in any order.
"""

from typing import NamedTuple

import sqlalchemy as sa

from roost import exception, states
from roost.db.cell import actions, images, instances, models
from roost.db.engine import Session
from roost.objects import InstanceAction

_c = models.instances.c


class Synced(NamedTuple):
    """What a row has heard of: the latest turn, and whether it is put away, or about to be."""

    turn: int
    is_soft_deleted: bool
    is_at_rest: bool


def find(session: Session, instance_uuid: str) -> Synced | None:
    """Return what an instance that lives has heard of."""
    columns = (_c.turns, _c.vm_state, _c.task_state)
    query = sa.select(*columns).where(_c.uuid == instance_uuid, _c.deleted_at.is_(None))
    row = session.execute(query).one_or_none()
    if row is None:
        return None
    away = row.vm_state == states.SOFT_DELETED and row.task_state != states.RESTORING
    away = away or row.task_state == states.SOFT_DELETING
    return Synced(row.turns, away, row.task_state is None)


def soft_delete(session: Session, *, record: InstanceAction, turn: int) -> str | None:
    """Let an instance be put away, if that is news to it, with an action on record.

    :returns: the host that is to do it; None: nobody needs to be told (any more)
    :raises roost.exception.Conflict: when it cannot be put away, only deleted: it never was a
        server, is in ERROR or on no host, or is being deleted; nothing is changed then
    :raises roost.exception.NotFound: when it is gone
    """
    return _begin(session, record, states.SOFT_DELETING, turn=turn)


def restore(session: Session, *, record: InstanceAction, turn: int) -> str | None:
    """Let an instance come back that is put away; like :func:`soft_delete`.

    :raises roost.exception.Conflict: when it is not put away
    :raises roost.exception.NotFound: when it is gone
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
    """Note the turn in the row, which nobody else changes before the transaction ends."""
    here = (_c.uuid == uuid, _c.deleted_at.is_(None), _c.turns < turn)
    heard = session.execute(sa.update(models.instances).where(*here).values(turns=turn))
    return heard.rowcount == 1
