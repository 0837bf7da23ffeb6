"""Limits histories: of all rows that belong together the newest are kept."""

import functools
from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from roost.db.engine import Session

_AT_ONCE: Final = 1000  # rows per call: longer histories of earlier releases shrink step by step


def keep(
    session: Session,
    table: sa.Table,
    mine: Mapping[str, Any],
    count: int,
    *old: sa.ColumnElement[bool],
) -> None:
    """Delete all but the ``count`` newest rows by ``id``, the oldest first, at most ``_AT_ONCE``.

    :param mine: column -> value of the rows that belong together
    :param old: further conditions for rows to be deleted
    """
    too_old = session.scalar(_first_too_old(table, tuple(mine), count), dict(mine))
    if too_old is not None:
        theirs = [table.c[name] == value for name, value in mine.items()]
        oldest = sa.select(table.c.id).where(*theirs, table.c.id <= too_old, *old)
        gone = session.scalars(oldest.order_by(table.c.id).limit(_AT_ONCE)).all()
        session.execute(sa.delete(table).where(table.c.id.in_(gone)))


@functools.cache  # each new row of a history asks
def _first_too_old(table: sa.Table, names: tuple[str, ...], count: int) -> sa.Select[tuple[int]]:
    theirs = [table.c[name] == sa.bindparam(name) for name in names]
    newest = sa.select(table.c.id).where(*theirs).order_by(table.c.id.desc())
    return newest.offset(count).limit(1)
