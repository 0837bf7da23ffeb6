"""Stale tasks: those whose leases expired so long ago that the database may be a restored backup.

While a conductor sweeps, no lease stays expired for more than a few seconds: each sweep takes the
expired ones, and renews them. So a lease that expired long ago is from a restored backup, or no
conductor was up for as long. The conductor cannot distinguish the two, so such tasks wait for an
operator; except deletes, which can only end one way. All times are by the clock of the cell's
database. Builds have their leases in ``instances``, operations in ``operations``.
"""

import datetime
from collections.abc import Collection
from typing import Final, NamedTuple

import sqlalchemy as sa

from roost import states
from roost.db import clock
from roost.db.cell import models
from roost.db.engine import Session
from roost.db.types import UtcDateTime
from roost.operations.kinds import OF_TASK

_c = models.instances.c
_o = models.operations.c
_SEEN: Final = sa.func.coalesce(_c.lease_until, _c.updated_at, _c.created_at, type_=UtcDateTime())
_SEEN_OPERATION: Final = sa.func.coalesce(_o.lease_until, _o.created_at, type_=UtcDateTime())
# A lease expired for as long means an outage of all conductors, or a restored backup.
STALE_SECONDS: Final = 3600.0


class StaleTask(NamedTuple):
    """A task that waits for an operator; ``since`` is the end of its lease, or its last change."""

    instance_uuid: str
    host: str | None
    vm_state: str
    task_state: str
    since: datetime.datetime


def is_stale(now: datetime.datetime, seconds: float) -> sa.ColumnElement[bool]:
    """Return the condition for rows of instances whose build waits for an operator.

    :param seconds: how long its lease must have been expired; 0: no task waits
    """
    if not seconds:
        return sa.false()
    others = (states.DELETING, *OF_TASK)
    return sa.and_(_c.task_state.not_in(others), _before(now, seconds) > _SEEN)


def is_stale_operation(now: datetime.datetime, seconds: float) -> sa.ColumnElement[bool]:
    """Return the condition for rows of operations that wait for an operator."""
    return _before(now, seconds) > _SEEN_OPERATION if seconds else sa.false()


def list_stale(session: Session, *, seconds: float) -> list[StaleTask]:
    """Return the tasks that wait for an operator, the oldest instance first."""
    now = clock.now(session)
    columns = (_c.id, _c.uuid, _c.host, _c.vm_state, _c.task_state)
    builds = sa.select(*columns, _SEEN).where(_c.deleted_at.is_(None), is_stale(now, seconds))
    operations = sa.select(*columns, _SEEN_OPERATION).join_from(
        models.operations, models.instances, _o.instance_uuid == _c.uuid
    )
    rows = [
        *session.execute(builds),
        *session.execute(operations.where(is_stale_operation(now, seconds))),
    ]
    return [StaleTask(*row[1:]) for row in sorted(rows, key=lambda row: row.id)]


def count(session: Session, *, seconds: float) -> int:
    """Return how many tasks wait for an operator."""
    now = clock.now(session)
    builds = sa.select(sa.func.count()).select_from(models.instances)
    operations = sa.select(sa.func.count()).select_from(models.operations)
    waiting = builds.where(_c.deleted_at.is_(None), is_stale(now, seconds))
    return int(session.execute(waiting).scalar_one()) + int(
        session.execute(operations.where(is_stale_operation(now, seconds))).scalar_one()
    )


def release(session: Session, *, seconds: float, only: Collection[str] | None = None) -> set[str]:
    """Release stale tasks to the next sweep; return their instances.

    :param only: of these instances; None: all stale tasks
    """
    named = {task.instance_uuid for task in list_stale(session, seconds=seconds)}
    chosen = named if only is None else named & set(only)
    now = clock.now(session)
    session.execute(
        sa.update(models.instances)
        .where(_c.uuid.in_(chosen), _c.deleted_at.is_(None), is_stale(now, seconds))
        .values(lease_until=now)
    )
    session.execute(
        sa.update(models.operations)
        .where(_o.instance_uuid.in_(chosen), is_stale_operation(now, seconds))
        .values(lease_until=now)
    )
    return chosen


def _before(now: datetime.datetime, seconds: float) -> sa.ColumnElement[datetime.datetime]:
    return sa.literal(now - datetime.timedelta(seconds=seconds), UtcDateTime())
