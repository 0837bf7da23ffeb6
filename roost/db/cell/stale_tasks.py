"""Tasks that nobody has seen to for so long that their rows may be an old copy of the database.

While a conductor sweeps, no lease has ended for longer than a few seconds: each sweep takes what is
over, and gives it another. So a lease that ended long ago is one of a backup that was put back, or
no conductor was up for as long. Nobody can tell which, so such tasks wait for an operator; but not
deletes, which have no other end. All times are by the clock of the cell's database.
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
# Tasks that no conductor has seen to for as long: an outage, or a backup that was put back.
STALE_SECONDS: Final = 3600.0


class StaleTask(NamedTuple):
    """A task that waits for an operator; ``since`` is when it was last seen to."""

    instance_uuid: str
    host: str | None
    vm_state: str
    task_state: str
    since: datetime.datetime


def is_stale(now: datetime.datetime, seconds: float) -> sa.ColumnElement[bool]:
    """Return the condition of rows whose task waits for an operator.

    :param seconds: how long ago is long; 0: no task waits
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
    """Let the next sweep take tasks up; return the instances that they are of.

    :param only: of these instances; None: all that wait
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
