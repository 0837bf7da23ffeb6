"""Soft deletes in a cell: servers that users have deleted, and can restore until reclaimed.

The API level sends the wanted state in numbered generations (``db/api/soft_delete.py``). A row
follows the latest it received (column ``turns``), so they may come late, twice and in any order.
"""

import uuid
from typing import NamedTuple

import sqlalchemy as sa

from roost import exception, states
from roost.db.cell import instances, models, operations
from roost.db.engine import Session
from roost.objects import InstanceAction, Operation
from roost.operations.kinds import RESTORE, SOFT_DELETE, Kind

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


def soft_delete(session: Session, *, record: InstanceAction, turn: int) -> Operation | None:
    """Begin to soft-delete an instance, if the generation is new to it, and record the action.

    :returns: the operation that is under way; None: no host needs a message (any more)
    :raises roost.exception.Conflict: when it can only be deleted: it never was a server, is in
        ERROR or on no host, or is being deleted; nothing is changed then
    :raises roost.exception.NotFound: when it is deleted
    """
    return _begin(session, record, SOFT_DELETE, turn=turn)


def restore(session: Session, *, record: InstanceAction, turn: int) -> Operation | None:
    """Begin to restore a soft-deleted instance; like :func:`soft_delete`.

    :raises roost.exception.Conflict: when it is not soft-deleted
    :raises roost.exception.NotFound: when it is deleted
    """
    return _begin(session, record, RESTORE, turn=turn)


def _begin(session: Session, record: InstanceAction, kind: Kind, *, turn: int) -> Operation | None:
    instance_uuid = str(record.instance_uuid)
    if _is_news(session, instance_uuid, turn):
        return operations.start(session, kind, record, uuid=str(uuid.uuid4()))
    if instances.get(session, instance_uuid).host is None:
        raise exception.Conflict(f"Instance {instance_uuid} is on no host")
    found = operations.find(session, instance_uuid)
    return found if found is not None and found.kind == kind.name else None


def _is_news(session: Session, uuid: str, turn: int) -> bool:
    """Write a newer generation to the row, which locks it until the transaction ends."""
    here = (_c.uuid == uuid, _c.deleted_at.is_(None), _c.turns < turn)
    raised = session.execute(sa.update(models.instances).where(*here).values(turns=turn))
    return raised.rowcount == 1
