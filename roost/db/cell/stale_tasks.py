"""Stale tasks: those whose leases expired so long ago that the database may be a restored backup.

While a conductor sweeps, no lease stays expired for more than a few seconds: each sweep takes the
expired ones, and renews them. So a lease that expired long ago is from a restored backup, or no
conductor was up for as long. The conductor cannot distinguish the two, so such tasks wait for an
operator; except deletes, which can only end one way. All times are by the clock of the cell's
database.
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

_c = models.instances.c
_SEEN: Final = sa.func.coalesce(_c.lease_until, _c.updated_at, _c.created_at, type_=UtcDateTime())
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
    """Return the condition for rows whose task waits for an operator.

    :param seconds: how long its lease must have been expired; 0: no task waits
    """
    if not seconds:
        return sa.false()
    cutoff = now - datetime.timedelta(seconds=seconds)
    return sa.and_(
        _c.task_state.is_not(None), _c.task_state != states.DELETING, _time(cutoff) > _SEEN
    )


def list_stale(session: Session, *, seconds: float) -> list[StaleTask]:
    """Return the tasks that wait for an operator, the oldest instance first."""
    query = sa.select(_c.uuid, _c.host, _c.vm_state, _c.task_state, _SEEN)
    rows = session.execute(query.where(*_waiting(session, seconds)).order_by(_c.id))
    return [StaleTask(*row) for row in rows]


def count(session: Session, *, seconds: float) -> int:
    """Return how many tasks wait for an operator."""
    found = sa.select(sa.func.count()).select_from(models.instances)
    return int(session.execute(found.where(*_waiting(session, seconds))).scalar_one())


def release(session: Session, *, seconds: float, only: Collection[str] | None = None) -> set[str]:
    """Release stale tasks to the next sweep; return their instances.

    :param only: of these instances; None: all stale tasks
    """
    named = {task.instance_uuid for task in list_stale(session, seconds=seconds)}
    chosen = named if only is None else named & set(only)
    session.execute(
        sa.update(models.instances)
        .where(_c.uuid.in_(chosen), *_waiting(session, seconds))
        .values(lease_until=clock.now(session))
    )
    return chosen


def _waiting(session: Session, seconds: float) -> tuple[sa.ColumnElement[bool], ...]:
    return _c.deleted_at.is_(None), is_stale(clock.now(session), seconds)


def _time(at: datetime.datetime) -> sa.ColumnElement[datetime.datetime]:
    return sa.literal(at, UtcDateTime())
