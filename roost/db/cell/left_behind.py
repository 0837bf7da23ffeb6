"""Hosts that may have guests of instances which ended, or went elsewhere, while they were down.

When such a host is back it asks for the rows of its guests, and destroys what they say is over: so
the rows stay until it has been seen without these guests.
"""

from collections.abc import Collection

import sqlalchemy as sa

from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once

_left = models.left_behind
_services = models.services


def note(session: Session, instance_uuid: str, host: str) -> None:
    """Note that a host is down which may have a guest of this instance; once is enough."""
    insert_once(session, _left, {"instance_uuid": instance_uuid, "host": host})


def on_host(session: Session, host: str) -> set[str]:
    """Return the instances of which this host may have guests."""
    query = sa.select(_left.c.instance_uuid).where(_left.c.host == host)
    return {*session.scalars(query)}


def forget(session: Session, host: str, instance_uuids: Collection[str]) -> None:
    """Forget instances of which this host has no guests, as it has said."""
    gone = (_left.c.host == host, _left.c.instance_uuid.in_(instance_uuids))
    session.execute(sa.delete(_left).where(*gone))


def is_needed(instance_uuid: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Say in SQL whether a host of this cell may have a guest of an instance."""
    hosts = sa.select(_left.c.host).join(_services, _services.c.host == _left.c.host)
    return hosts.where(_left.c.instance_uuid == instance_uuid).exists()
