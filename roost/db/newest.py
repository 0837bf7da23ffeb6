"""Limits histories: of all rows that belong together the newest are kept."""

from typing import Final

import sqlalchemy as sa

from roost.db.engine import Session

_AT_ONCE: Final = 1000  # rows per call: longer histories of earlier releases shrink step by step


def keep(
    session: Session,
    table: sa.Table,
    mine: sa.ColumnElement[bool],
    count: int,
    *old: sa.ColumnElement[bool],
) -> None:
    """Delete all but the ``count`` newest rows by ``id``, the oldest first, at most ``_AT_ONCE``.

    :param mine: which rows belong together
    :param old: further conditions for rows to be deleted
    """
    newest = sa.select(table.c.id).where(mine).order_by(table.c.id.desc())
    too_old = session.scalars(newest.offset(count).limit(1)).first()
    if too_old is not None:
        oldest = sa.select(table.c.id).where(mine, table.c.id <= too_old, *old)
        gone = session.scalars(oldest.order_by(table.c.id).limit(_AT_ONCE)).all()
        session.execute(sa.delete(table).where(table.c.id.in_(gone)))
