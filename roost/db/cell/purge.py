"""Rows of instances that were deleted long ago."""

import datetime
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from roost.db import clock
from roost.db.cell import instances, models
from roost.db.engine import Session

_deleted_at = models.instances.c.deleted_at


def count(session: Session, age: datetime.timedelta) -> int:
    """Return how many instances were deleted so long ago."""
    due = sa.select(sa.func.count()).where(_deleted_at <= clock.now(session) - age)
    found: int = session.execute(due.select_from(models.instances)).scalar_one()
    return found


def take_due(session: Session, age: datetime.timedelta, *, limit: int) -> list[str]:
    """Return instances that were deleted so long ago, the oldest first.

    They are locked until the transaction ends; those that somebody else has locked are left out.
    """
    query = (
        sa.select(models.instances.c.uuid)
        .where(_deleted_at <= clock.now(session) - age)
        .order_by(_deleted_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return [*session.scalars(query)]


def read(session: Session, uuids: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all rows of these instances, each with the name of its table."""
    for table, are_theirs in instances.rows_of(uuids):
        for row in session.execute(sa.select(table).where(are_theirs)).mappings():
            yield table.name, dict(row)
