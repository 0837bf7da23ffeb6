"""Soft deletes at API level: servers that users have deleted, and can restore until reclaimed.

A mapping has the wanted state, and in ``operation_uuid`` the soft delete or restore by which its
cell is to follow. It is settled when the cell has begun it, or refused it for good, and no other
one is noted before. So a message of an earlier one, however late, is of an operation that the cell
has in its history, and changes nothing.
"""

import datetime
import uuid
from collections.abc import Collection, Mapping

import sqlalchemy as sa

from roost.db import clock
from roost.db.api import instance_mappings, models, quota
from roost.db.engine import Session
from roost.db.types import database_now
from roost.objects import InstanceMapping

_mappings = models.instance_mappings
_c = _mappings.c


def soft_delete(session: Session, instance_uuid: str) -> InstanceMapping:
    """Soft-delete an instance, once, and release its quota; it stays in its groups.

    That changes nothing if it is in no cell, or queued for delete, or its restore is not settled.

    :returns: its mapping
    :raises roost.exception.NotFound: when there is none
    """
    in_use = (_c.put_away_at.is_(None), _c.operation_uuid.is_(None))
    done = session.execute(
        sa.update(_mappings)
        .where(_c.instance_uuid == instance_uuid, _c.queued_for_delete.is_(False))
        .where(_c.cell_uuid.is_not(None), *in_use)
        .values(put_away_at=database_now(), operation_uuid=str(uuid.uuid4()))
    )
    mapping = instance_mappings.get(session, instance_uuid)
    if done.rowcount == 1:
        quota.give_back(session, **instance_mappings.charge(mapping))
    return mapping


def restore(
    session: Session, mapping: InstanceMapping, *, defaults: Mapping[str, int]
) -> InstanceMapping:
    """Restore a soft-deleted instance, once, and take its quota again.

    That changes nothing if its soft delete is not settled, it is queued for delete, or its mapping
    has changed.

    :param mapping: as it was before its cell was found to have it soft-deleted
    :param defaults: limits of resources for which its project has none of its own; -1: no limit
    :returns: the mapping now
    :raises roost.exception.QuotaExceeded: when the quota does not suffice; roll back then
    :raises roost.exception.NotFound: when there is none
    """
    away = (_c.put_away_at.is_not(None), _c.operation_uuid.is_(None))
    mapping_id = session.scalar(
        sa.select(_c.id)
        .filter_by(**instance_mappings.as_read(mapping))
        .where(_c.queued_for_delete.is_(False), *away)
        .with_for_update()
    )
    if mapping_id is not None:
        charge = instance_mappings.charge(mapping)
        quota.take(session, user_id=mapping.user_id, defaults=defaults, **charge)
        back = {"put_away_at": None, "operation_uuid": str(uuid.uuid4())}
        session.execute(sa.update(_mappings).where(_c.id == mapping_id).values(back))
    return instance_mappings.get(session, mapping.instance_uuid)


def settle(session: Session, operation_uuid: str) -> None:
    """Note that a cell has begun a soft delete or restore, or has refused it for good."""
    noted = _c.operation_uuid == operation_uuid
    session.execute(sa.update(_mappings).where(noted).values(operation_uuid=None))


def list_unsettled(
    session: Session, *, marker: int = 0, limit: int = 1000, but_not_in: Collection[str] = ()
) -> list[tuple[int, InstanceMapping]]:
    """Return (row id, mapping) of instances whose cells may not have begun what is noted.

    :param but_not_in: cells whose instances are left out
    """
    theirs = (_c.operation_uuid.is_not(None), _c.cell_uuid.not_in(but_not_in))
    return _page(session, *theirs, marker=marker, limit=limit)


def list_due(
    session: Session, *, retained_for: datetime.timedelta, marker: int = 0, limit: int = 1000
) -> list[tuple[int, InstanceMapping]]:
    """Return (row id, mapping) of instances soft-deleted at least that long ago, and settled."""
    old = _c.put_away_at <= clock.now(session) - retained_for
    return _page(session, old, _c.operation_uuid.is_(None), marker=marker, limit=limit)


def _page(
    session: Session, *conditions: sa.ColumnElement[bool], marker: int, limit: int
) -> list[tuple[int, InstanceMapping]]:
    rows = session.execute(
        sa.select(_mappings)
        .where(_c.queued_for_delete.is_(False), _c.id > marker, *conditions)
        .order_by(_c.id)
        .limit(limit)
    )
    return [(row.id, instance_mappings.row_to_mapping(row)) for row in rows]
