"""Which user of the bus speaks for which cell: the first that reported for it."""

import sqlalchemy as sa

from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.scheduler import models

_USERS = models.cell_users


def find(session: Session, bus_user: str) -> str | None:
    """Return the uuid of the cell that a user speaks for, or None."""
    return session.scalar(sa.select(_USERS.c.cell_uuid).where(_USERS.c.bus_user == bus_user))


def claim(session: Session, bus_user: str, cell_uuid: str) -> str | None:
    """Let a user speak for a cell, unless one of the two is taken; return its cell then."""
    insert_once(session, _USERS, {"cell_uuid": cell_uuid, "bus_user": bus_user})
    return find(session, bus_user)


def forget(session: Session, cell_uuid: str) -> None:
    """Let nobody speak for a cell."""
    session.execute(sa.delete(_USERS).where(_USERS.c.cell_uuid == cell_uuid))
