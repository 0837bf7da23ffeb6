"""Hosts that may have guests of instances that were deleted, or rescheduled, while they were down.

When such a host is up again, it reads the rows of its guests and destroys those that ended: so the
rows stay until the host has reported that it has no such guests.
"""

from collections.abc import Collection

import sqlalchemy as sa

from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once

_left = models.left_behind
_services = models.services


def note(session: Session, instance_uuid: str, host: str) -> None:
    """Record that a host that is down may have a guest of this instance; may be repeated."""
    insert_once(session, _left, {"instance_uuid": instance_uuid, "host": host})


def on_host(session: Session, host: str) -> set[str]:
    """Return the instances of which this host may have guests."""
    query = sa.select(_left.c.instance_uuid).where(_left.c.host == host)
    return {*session.scalars(query)}


def forget(session: Session, host: str, instance_uuids: Collection[str]) -> None:
    """Delete the records of instances of which this host has reported to have no guests."""
    gone = (_left.c.host == host, _left.c.instance_uuid.in_(instance_uuids))
    session.execute(sa.delete(_left).where(*gone))


def is_needed(instance_uuid: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Return the condition that a host of this cell may have a guest of an instance."""
    hosts = sa.select(_left.c.host).join(_services, _services.c.host == _left.c.host)
    return hosts.where(_left.c.instance_uuid == instance_uuid).exists()
