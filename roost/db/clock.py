"""The database's own clock, read."""

import datetime
from typing import Final

import sqlalchemy as sa

from roost.db.engine import Session
from roost.db.types import database_now

_NOW: Final = sa.select(database_now())


def now(session: Session) -> datetime.datetime:
    """Return the time by the clock of the database, which all who share it go by."""
    found: datetime.datetime = session.execute(_NOW).scalar_one()
    return found
