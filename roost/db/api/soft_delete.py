"""Soft deletes at API level: servers that users have deleted, and can restore until reclaimed.

A mapping has the wanted state, and in its generation (column ``turns``) the number of changes of
it. The cell follows the latest generation, however late and often it is sent
(``db/cell/soft_delete.py``); until it is known to have it, the mapping is unsynced (column
``unheard``) and a super-conductor sends it again.
"""

import datetime
from collections.abc import Collection, Mapping

import sqlalchemy as sa

from roost.db import clock
from roost.db.api import instance_mappings, models, quota
from roost.db.engine import Session
from roost.db.types import database_now
from roost.objects import InstanceMapping

_mappings = models.instance_mappings
_c = _mappings.c


def soft_delete(session: Session, instance_uuid: str) -> bool:
    """Soft-delete an instance in a cell and release its quota, once; it stays in its groups.

    :returns: False when it is soft-deleted already, queued for delete, or in no cell
    """
    done = session.execute(
        sa.update(_mappings)
        .where(_lives(instance_uuid), _c.cell_uuid.is_not(None), _c.put_away_at.is_(None))
        .values(put_away_at=database_now(), turns=_c.turns + 1, unheard=True)
    )
    if done.rowcount != 1:
        return False
    mapping = instance_mappings.get(session, instance_uuid)
    quota.give_back(session, **instance_mappings.charge(mapping))
    return True


def take_back(
    session: Session, instance_uuid: str, *, turn: int, defaults: Mapping[str, int]
) -> bool:
    """Restore an instance that was soft-deleted in this generation, and take its quota again.

    :param defaults: limits of resources for which its project has none of its own; -1: no limit
    :returns: False when it is not soft-deleted, has another generation, or is queued for delete
    :raises roost.exception.QuotaExceeded: when the quota does not suffice; roll back then
    """
    away = sa.and_(_lives(instance_uuid), _c.turns == turn, _c.put_away_at.is_not(None))
    row = session.execute(sa.select(_mappings).where(away).with_for_update()).one_or_none()
    if row is None:
        return False
    mapping = instance_mappings.row_to_mapping(row)
    asked = instance_mappings.charge(mapping)
    quota.take(session, user_id=mapping.user_id, defaults=defaults, **asked)
    back = {"put_away_at": None, "turns": turn + 1, "unheard": True}
    session.execute(sa.update(_mappings).where(away).values(back))
    return True


def note_synced(session: Session, instance_uuid: str, *, turn: int) -> None:
    """Mark the mapping as synced, if it still has this generation."""
    session.execute(
        sa.update(_mappings)
        .where(_c.instance_uuid == instance_uuid, _c.turns == turn, _c.unheard.is_(True))
        .values(unheard=False)
    )


def list_unsynced(
    session: Session, *, marker: int = 0, limit: int = 1000, but_not_in: Collection[str] = ()
) -> list[tuple[int, InstanceMapping]]:
    """Return (row id, mapping) of unsynced mappings.

    :param but_not_in: cells whose instances are left out
    """
    rows = session.execute(
        sa.select(_mappings)
        .where(_c.unheard.is_(True), _c.queued_for_delete.is_(False), _c.id > marker)
        .where(_c.cell_uuid.not_in(but_not_in))
        .order_by(_c.id)
        .limit(limit)
    )
    return [(row.id, instance_mappings.row_to_mapping(row)) for row in rows]


def list_due(
    session: Session, *, retained_for: datetime.timedelta, marker: int = 0, limit: int = 1000
) -> list[tuple[int, InstanceMapping]]:
    """Return (row id, mapping) of instances soft-deleted at least that long ago."""
    rows = session.execute(
        sa.select(_mappings)
        .where(_c.put_away_at <= clock.now(session) - retained_for, _c.queued_for_delete.is_(False))
        .where(_c.id > marker)
        .order_by(_c.id)
        .limit(limit)
    )
    return [(row.id, instance_mappings.row_to_mapping(row)) for row in rows]


def _lives(instance_uuid: str) -> sa.ColumnElement[bool]:
    return sa.and_(_c.instance_uuid == instance_uuid, _c.queued_for_delete.is_(False))
