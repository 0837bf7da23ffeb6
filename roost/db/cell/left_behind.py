"""Hosts that may have guests of instances that were deleted, rescheduled or moved meanwhile.

When such a host is up again, it reads the rows of its guests and destroys those that ended here: so
the rows stay until the host has reported that it has no such guests.
"""

import datetime
from collections.abc import Collection
from typing import Final

import sqlalchemy as sa

from roost.db import clock
from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.types import database_now

# What destroys a guest and was due so long ago does not begin by itself: the database may be an old
# copy, and that guest the only one of its server by now.
OLD_COPY: Final = datetime.timedelta(hours=1)
_left = models.left_behind
_services = models.services


def note(session: Session, instance_uuid: str, host: str) -> None:
    """Record that a host that is down may have a guest of this instance; may be repeated."""
    new = {"instance_uuid": instance_uuid, "host": host, "noted_at": database_now()}
    insert_once(session, _left, new)


def on_host(session: Session, host: str) -> set[str]:
    """Return the instances of which this host may have guests."""
    query = sa.select(_left.c.instance_uuid).where(_left.c.host == host)
    return {*session.scalars(query)}


def proven(session: Session, host: str) -> set[str]:
    """Return those of which this host must destroy what it has: noted, or renewed, lately."""
    since = clock.now(session) - OLD_COPY
    query = sa.select(_left.c.instance_uuid).where(_left.c.host == host, _left.c.noted_at > since)
    return {*session.scalars(query)}


def renew(session: Session, host: str) -> None:
    """Renew the records of a host that has started again: what it has is to be destroyed now."""
    session.execute(
        sa.update(_left).where(_left.c.host == host).values(noted_at=clock.now(session))
    )


def forget(session: Session, host: str, instance_uuids: Collection[str]) -> None:
    """Delete the records of instances of which this host has reported to have no guests."""
    gone = (_left.c.host == host, _left.c.instance_uuid.in_(instance_uuids))
    session.execute(sa.delete(_left).where(*gone))


def is_needed(instance_uuid: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Return the condition that a host of this cell may have a guest of an instance."""
    hosts = sa.select(_left.c.host).join(_services, _services.c.host == _left.c.host)
    return hosts.where(_left.c.instance_uuid == instance_uuid).exists()
