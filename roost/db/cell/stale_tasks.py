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
from roost.db.insert import insert_once
from roost.db.types import UtcDateTime

_c = models.instances.c
_sweeps = models.sweeps
_SEEN: Final = sa.func.coalesce(_c.lease_until, _c.updated_at, _c.created_at, type_=UtcDateTime())
_NOTED_AFTER: Final = datetime.timedelta(seconds=30)  # so that sweeps seldom write
_ONLY: Final = 1  # the one row
# Tasks that no conductor has seen to for as long: an outage, or a backup that was put back.
STALE_SECONDS: Final = 3600.0


class StaleTask(NamedTuple):
    """A task that waits for an operator; ``since`` is when it was last seen to."""

    instance_uuid: str
    host: str | None
    vm_state: str
    task_state: str
    since: datetime.datetime


class Gap(NamedTuple):
    """Between which times no conductor was up; or the backup that was put back is of the first."""

    began: datetime.datetime
    ended: datetime.datetime


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


def note_sweep(session: Session, *, seconds: float) -> Gap | None:
    """Note that a conductor is up; return the gap before it, if that was long.

    :param seconds: how long is long; 0: nothing is
    """
    now = clock.now(session)
    last = session.execute(sa.select(_sweeps.c.last_up)).scalar_one_or_none()
    if last is None:
        insert_once(session, _sweeps, {"id": _ONLY, "last_up": now})
        return None
    if now - last < _NOTED_AFTER:
        return None
    gap = Gap(last, now) if 0 < seconds < (now - last).total_seconds() else None
    noted = {"gap_began": last, "gap_ended": now} if gap else {}
    done = session.execute(
        sa.update(_sweeps).where(_sweeps.c.last_up == last).values(last_up=now, **noted)
    )
    return gap if done.rowcount == 1 else None


def last_gap(session: Session) -> Gap | None:
    """Return between which times no conductor was up last, if that was ever for long."""
    row = session.execute(sa.select(_sweeps.c.gap_began, _sweeps.c.gap_ended)).one_or_none()
    return None if row is None or row.gap_began is None else Gap(*row)


def _waiting(session: Session, seconds: float) -> tuple[sa.ColumnElement[bool], ...]:
    return _c.deleted_at.is_(None), is_stale(clock.now(session), seconds)


def _time(at: datetime.datetime) -> sa.ColumnElement[datetime.datetime]:
    return sa.literal(at, UtcDateTime())
