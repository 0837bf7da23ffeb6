"""Finds old deleted instances, and reads all their rows, for the purge."""

import datetime
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from roost.db import clock
from roost.db.cell import instances, left_behind, models
from roost.db.engine import Session

_deleted_at = models.instances.c.deleted_at


def _are_due(session: Session, age: datetime.timedelta) -> sa.ColumnElement[bool]:
    """Return the condition for old rows, except those that a host that was down still needs."""
    is_old = _deleted_at <= clock.now(session) - age
    return is_old & ~left_behind.is_needed(models.instances.c.uuid)


def count(session: Session, age: datetime.timedelta) -> int:
    """Return how many instances were deleted at least ``age`` ago."""
    due = sa.select(sa.func.count()).where(_are_due(session, age))
    found: int = session.execute(due.select_from(models.instances)).scalar_one()
    return found


def list_due(session: Session, age: datetime.timedelta, *, limit: int) -> list[str]:
    """Return instances that were deleted at least ``age`` ago, the oldest first."""
    query = sa.select(models.instances.c.uuid).where(_are_due(session, age))
    return [*session.scalars(query.order_by(_deleted_at).limit(limit))]


def take(session: Session, age: datetime.timedelta, uuids: Sequence[str]) -> list[str]:
    """Return those of these instances that still are due.

    They are locked until the transaction ends; those that another one has locked are left out.
    """
    query = sa.select(models.instances.c.uuid).where(
        models.instances.c.uuid.in_(uuids), _are_due(session, age)
    )
    return [*session.scalars(query.with_for_update(skip_locked=True))]


def read(session: Session, uuids: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all rows of these instances, each with the name of its table."""
    for table, are_theirs in instances.rows_of(uuids):
        for row in session.execute(sa.select(table).where(are_theirs)).mappings():
            yield table.name, dict(row)
