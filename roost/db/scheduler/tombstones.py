"""Tombstones: deleted server groups, aggregates and hosts, kept for a while, then removed.

Groups and aggregates stay so that a late message does not bring them back. An even later one does,
until the next snapshot of the API level removes the object again. Hosts stay so that those who ask
for changes learn that they are gone.
"""

import datetime
from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from roost.db import clock
from roost.db.engine import Session
from roost.db.scheduler import models, server_groups

KEPT: Final = datetime.timedelta(days=1)
_AT_ONCE: Final = 500
_GROUPS = models.server_groups
_AGGREGATES = models.aggregates


def forget(session: Session) -> int:
    """Set ``deleted_at`` of new tombstones, and remove some old ones; return how many."""
    now = clock.now(session)
    removed = models.removed_hosts
    hosts = session.execute(sa.delete(removed).where(removed.c.removed_at <= now - KEPT)).rowcount
    for table in (_GROUPS, _AGGREGATES):
        _note(session, table, now)
    groups, aggregates = (_due(session, table, now) for table in (_GROUPS, _AGGREGATES))
    locked = sa.select(_GROUPS.c.uuid).where(_GROUPS.c.uuid.in_(groups)).order_by(_GROUPS.c.uuid)
    groups = session.scalars(locked.with_for_update()).all()  # so their claims do not change
    members = server_groups.members_by_host(session, groups)
    empty = [uuid for uuid in groups if not members[uuid]]
    for table, gone in ((_GROUPS, empty), (_AGGREGATES, aggregates)):
        session.execute(sa.delete(table).where(table.c.uuid.in_(gone), table.c.deleted.is_(True)))
    return hosts + len(empty) + len(aggregates)


def _note(session: Session, table: sa.Table, now: datetime.datetime) -> None:
    gone = table.c.deleted.is_(True) & table.c.deleted_at.is_(None)
    back = table.c.deleted.is_(False) & table.c.deleted_at.is_not(None)
    for which, at in ((gone, now), (back, None)):
        session.execute(sa.update(table).where(which).values(deleted_at=at))


def _due(session: Session, table: sa.Table, now: datetime.datetime) -> Sequence[str]:
    old = (table.c.deleted.is_(True), table.c.deleted_at <= now - KEPT)
    query = sa.select(table.c.uuid).where(*old).order_by(table.c.uuid).limit(_AT_ONCE)
    return session.scalars(query).all()
