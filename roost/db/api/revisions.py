"""Version numbers: of two changes of one kind, the one committed later has the higher number.

A transaction that takes a number locks the row until it ends, so changes of one kind are serialized
and become visible in the order of their numbers: a reader that sees one sees all earlier ones. No
number is given twice, not even after its object is deleted.
"""

from typing import Final

import sqlalchemy as sa

from roost.db import clock
from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.objects.base import version_at

AGGREGATES: Final = "aggregates"
SERVER_GROUPS: Final = "server_groups"

_revisions = models.api_revisions


def advance(session: Session, name: str) -> int:
    """Return the next number of a kind, and hold the lock on it until the transaction ends.

    It is not below the microseconds since 1970: so the numbers of a restored database are higher
    than all that the schedulers received before.
    """
    now = version_at(clock.now(session))
    if not _raise(session, name, now):
        insert_once(session, _revisions, {"name": name, "number": 0})
        _raise(session, name, now)
    number = sa.select(_revisions.c.number).where(_revisions.c.name == name)
    return int(session.execute(number).scalar_one())


def _raise(session: Session, name: str, least: int) -> bool:
    following = _revisions.c.number + 1
    higher = sa.case((following > least, following), else_=least)
    statement = sa.update(_revisions).where(_revisions.c.name == name).values(number=higher)
    return session.execute(statement).rowcount == 1
