"""Queries and repairs that audits run on the API-level database."""

import datetime
import uuid as uuids
from typing import NamedTuple

import sqlalchemy as sa

from roost.db.api import build_requests, instance_mappings, models, quota
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.spans import Which, within
from roost.db.types import database_now
from roost.objects import Instance

_mappings = models.instance_mappings
_requests = models.build_requests


class MappingRow(NamedTuple):
    """An instance's mapping; ``cell_uuid`` None: not scheduled to a cell yet.

    ``put_away``: soft-deleted; ``unsynced``: its cell may not know that yet.
    ``turns``: the generation, which counts soft-deletes and restores.
    """

    cell_uuid: str | None
    queued_for_delete: bool
    put_away: bool = False
    unsynced: bool = False
    turns: int = 0


def count_mappings(session: Session) -> int:
    count: int = session.execute(sa.select(sa.func.count()).select_from(_mappings)).scalar_one()
    return count


def mappings(session: Session, which: Which) -> dict[str, MappingRow]:
    """Return mappings by instance."""
    c = _mappings.c
    away = c.put_away_at.is_not(None)
    rows = session.execute(
        sa.select(
            *(c.instance_uuid, c.cell_uuid, c.queued_for_delete, away, c.unheard, c.turns)
        ).where(within(c.instance_uuid, which))
    )
    return {
        uuid: MappingRow(cell, bool(queued), bool(put_away), bool(unsynced), turns)
        for uuid, cell, queued, put_away, unsynced, turns in rows
    }


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


def forget_unplaced(session: Session, instance_uuid: str) -> bool:
    """Delete the mapping of an instance without cell and build request; False: it has either."""
    c = _mappings.c
    if build_requests.find(session, instance_uuid) is not None:
        return False
    return _forget(session, instance_uuid, c.cell_uuid.is_(None))


def forget_deleted(session: Session, instance_uuid: str, *, cell_uuid: str) -> bool:
    """Delete the mapping of an instance that its cell has deleted; False: not mapped there."""
    return _forget(session, instance_uuid, _mappings.c.cell_uuid == cell_uuid)


def adopt(
    session: Session, instance: Instance, *, cell_uuid: str, turns: int, is_away: bool
) -> bool:
    """Map an unmapped instance to its cell, as one in use; False: it is mapped by now.

    :param turns: the generation that the cell has
    :param is_away: whether it is soft-deleted there; the cell is to restore it then
    """
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
            "turns": turns + is_away,
            "unheard": is_away,
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


def use_again(session: Session, instance_uuid: str, *, turns: int, is_away: bool) -> bool:
    """Have an instance in use whose mapping and cell differ about its soft delete.

    It counts against its project again.

    :param turns: the generation that the cell has
    :param is_away: whether it is soft-deleted there; the cell is to restore it then
    :returns: False when they agree by now, or it is queued for delete
    """
    c = _mappings.c
    mine = sa.and_(c.instance_uuid == instance_uuid, c.queued_for_delete.is_(False))
    row = session.execute(sa.select(_mappings).where(mine).with_for_update()).one_or_none()
    if row is None:
        return False
    differs = not row.unheard and (row.put_away_at is not None) != is_away
    if row.turns >= turns and not differs:
        return False
    if row.put_away_at is not None:
        mapping = instance_mappings.row_to_mapping(row)
        quota.charge(session, **instance_mappings.charge(mapping))
    later = max(row.turns, turns) + is_away
    values = {"put_away_at": None, "turns": later, "unheard": is_away}
    session.execute(sa.update(_mappings).where(mine).values(values))
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
