"""Queries and repairs that audits run on the API-level database."""

import datetime
import uuid as uuids
from typing import NamedTuple

import sqlalchemy as sa

from roost import states
from roost.db import prepared
from roost.db.api import build_requests, instance_mappings, models, quota
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.spans import Which, within
from roost.db.types import database_now
from roost.objects import Instance, InstanceMapping

_mappings = models.instance_mappings
_requests = models.build_requests


class MappingRow(NamedTuple):
    """An instance's mapping; ``cell_uuid`` None: not scheduled to a cell yet.

    ``put_away``: soft-deleted; ``unsettled``: its cell may not have begun that, or the restore.
    """

    cell_uuid: str | None
    queued_for_delete: bool
    put_away: bool = False
    unsettled: bool = False


def count_mappings(session: Session) -> int:
    count: int = session.execute(sa.select(sa.func.count()).select_from(_mappings)).scalar_one()
    return count


def mappings(session: Session, which: Which) -> dict[str, MappingRow]:
    """Return mappings by instance."""
    c = _mappings.c
    away, unsettled = c.put_away_at.is_not(None), c.operation_uuid.is_not(None)
    rows = session.execute(
        sa.select(c.instance_uuid, c.cell_uuid, c.queued_for_delete, away, unsettled).where(
            within(c.instance_uuid, which)
        )
    )
    return {uuid: MappingRow(cell, *map(bool, flags)) for uuid, cell, *flags in rows}


def deleted(session: Session, which: Which) -> set[str]:
    """Return the instances that their users have deleted and that are not purged yet."""
    uuid = models.deleted_mappings.c.instance_uuid
    return {*session.scalars(sa.select(uuid).where(within(uuid, which)))}


def build_requests_of(session: Session, which: Which) -> dict[str, datetime.datetime]:
    """Return when each build request was created, by instance."""
    c = _requests.c
    rows = session.execute(
        sa.select(c.instance_uuid, c.created_at).where(within(c.instance_uuid, which))
    )
    return {row.instance_uuid: row.created_at for row in rows}


def end_lease(session: Session, instance_uuid: str) -> bool:
    """End the lease on a build request, so that any super-conductor can lease it; False: none.

    A super-conductor that still works on it will see that it lost the lease.
    """
    ended = session.execute(
        sa.update(_requests)
        .where(_requests.c.instance_uuid == instance_uuid)
        .values(lease_owner=None, lease_until=None)
    )
    return ended.rowcount == 1


def forget_unmapped(session: Session, instance_uuid: str) -> bool:
    """Delete the mapping of an instance without cell and build request; False: it has either."""
    c = _mappings.c
    if build_requests.find(session, instance_uuid) is not None:
        return False
    return _forget(session, instance_uuid, c.cell_uuid.is_(None))


def forget_deleted(session: Session, instance_uuid: str, *, cell_uuid: str) -> bool:
    """Delete the mapping of an instance that its cell has deleted; False: not mapped there."""
    return _forget(session, instance_uuid, _mappings.c.cell_uuid == cell_uuid)


def adopt(session: Session, instance: Instance, *, cell_uuid: str) -> bool:
    """Map an unmapped instance to its cell, as one in use; False: it is mapped by now.

    If it is soft-deleted there, the cell is to restore it.
    """
    is_away = states.is_soft_deleted(instance.vm_state, instance.task_state)
    new = insert_once(
        session,
        _mappings,
        {
            "instance_uuid": instance.uuid,
            "request_uuid": str(uuids.uuid4()),  # the original one is unknown
            "cell_uuid": cell_uuid,
            "project_id": instance.project_id,
            "user_id": instance.user_id,
            "vcpus": instance.flavor.vcpus,
            "memory_mb": instance.flavor.memory_mb,
            "queued_for_delete": False,
            "operation_uuid": str(uuids.uuid4()) if is_away else None,
            "created_at": instance.created_at or database_now(),
        },
    )
    if new:
        quota.charge(
            session,
            project_id=str(instance.project_id),
            instances=1,
            cores=instance.flavor.vcpus,
            ram=instance.flavor.memory_mb,
        )
    return new


def use_again(session: Session, mapping: InstanceMapping, *, is_away: bool) -> bool:
    """Have an instance in use whose mapping and cell differ about its soft delete.

    It counts against its project again.

    :param mapping: as it was before ``is_away`` was read
    :param is_away: whether it is soft-deleted in its cell; the cell is to restore it then
    :returns: False when they agree by now, or it is queued for delete
    """
    settled = not mapping.queued_for_delete and mapping.operation_uuid is None
    if not settled or is_away == (mapping.put_away_at is not None):
        return False
    values = {"put_away_at": None, "operation_uuid": str(uuids.uuid4()) if is_away else None}
    if prepared.update(session, _mappings, instance_mappings.as_read(mapping), values) != 1:
        return False
    if not is_away:
        quota.charge(session, **instance_mappings.charge(mapping))
    return True


def move(session: Session, instance_uuid: str, *, before: str | None, cell_uuid: str) -> bool:
    """Point a mapping to another cell, if it still points to ``before``."""
    c = _mappings.c
    same = c.cell_uuid.is_(None) if before is None else c.cell_uuid == before
    moved = session.execute(
        sa.update(_mappings)
        .where(c.instance_uuid == instance_uuid, same)
        .values(cell_uuid=cell_uuid)
    )
    return moved.rowcount == 1


def _forget(session: Session, instance_uuid: str, condition: sa.ColumnElement[bool]) -> bool:
    """Delete a mapping that meets the condition, and release its quota."""
    c = _mappings.c
    same = sa.select(c.id).where(c.instance_uuid == instance_uuid, condition).with_for_update()
    if session.execute(same).first() is None:
        return False
    return instance_mappings.forget(session, instance_uuid) is not None
