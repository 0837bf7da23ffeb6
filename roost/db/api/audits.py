"""Queries and repairs that audits run on the API-level database."""

import datetime
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
    session: Session,
    instance: Instance,
    *,
    cell_uuid: str,
    request_uuid: str,
    put_away_at: datetime.datetime | None = None,
    turns: int = 0,
) -> bool:
    """Map an unmapped instance to the cell that has it.

    Unless it is soft-deleted, it counts against its project.

    :param turns: the generation that its cell has
    :returns: False when it is mapped by now
    """
    new = insert_once(
        session,
        _mappings,
        {
            "instance_uuid": instance.uuid,
            "request_uuid": request_uuid,
            "cell_uuid": cell_uuid,
            "project_id": instance.project_id,
            "user_id": instance.user_id,
            "vcpus": instance.flavor.vcpus,
            "memory_mb": instance.flavor.memory_mb,
            "queued_for_delete": False,
            "put_away_at": put_away_at,
            "turns": turns,
            "unheard": False,
            "created_at": instance.created_at or database_now(),
        },
    )
    if new and put_away_at is None:
        quota.charge(
            session,
            project_id=str(instance.project_id),
            instances=1,
            cores=instance.flavor.vcpus,
            ram=instance.flavor.memory_mb,
        )
    return new


def say_again(session: Session, instance_uuid: str, *, but_put_away: bool, cell_turns: int) -> bool:
    """Have the soft-delete state sent to the cell again, if the cell has the other one.

    :param but_put_away: whether the instance is soft-deleted in the cell
    :param cell_turns: the generation that the cell has; the new one is higher
    """
    c = _mappings.c
    differs = c.put_away_at.is_(None) if but_put_away else c.put_away_at.is_not(None)
    later = sa.case((c.turns > cell_turns, c.turns), else_=cell_turns) + 1
    said = session.execute(
        sa.update(_mappings)
        .where(c.instance_uuid == instance_uuid, differs)
        .where(c.queued_for_delete.is_(False), c.unheard.is_(False))
        .values(turns=later, unheard=True)
    )
    return said.rowcount == 1


def catch_up(
    session: Session, instance_uuid: str, *, put_away_at: datetime.datetime | None, turns: int
) -> bool:
    """Update an outdated mapping to the soft-delete state and generation of its cell.

    :param turns: the generation that the cell has
    :returns: False when the mapping has that generation by now, or is queued for delete
    """
    c = _mappings.c
    old = sa.and_(c.instance_uuid == instance_uuid, c.queued_for_delete.is_(False), c.turns < turns)
    row = session.execute(sa.select(_mappings).where(old).with_for_update()).one_or_none()
    if row is None:
        return False
    charge = instance_mappings.charge(instance_mappings.row_to_mapping(row))
    if row.put_away_at is None and put_away_at is not None:
        quota.give_back(session, **charge)
    elif row.put_away_at is not None and put_away_at is None:
        quota.charge(session, **charge)
    values = {"put_away_at": put_away_at, "turns": turns, "unheard": False}
    session.execute(sa.update(_mappings).where(old).values(values))
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
