"""Histories that do not grow for ever: of all rows that belong together the newest are kept."""

from typing import Final

import sqlalchemy as sa

from roost.db.engine import Session

_AT_ONCE: Final = 1000  # rows: what an earlier release has left goes bit by bit


def keep(
    session: Session,
    table: sa.Table,
    mine: sa.ColumnElement[bool],
    count: int,
    *old: sa.ColumnElement[bool],
) -> None:
    """Delete rows but the newest so many, by their ``id``; of very many the oldest go first.

    :param mine: which rows belong together
    :param old: conditions that a row must meet, too, to be deleted
    """
    newest = sa.select(table.c.id).where(mine).order_by(table.c.id.desc())
    too_old = session.scalars(newest.offset(count).limit(1)).first()
    if too_old is not None:
        oldest = sa.select(table.c.id).where(mine, table.c.id <= too_old, *old)
        gone = session.scalars(oldest.order_by(table.c.id).limit(_AT_ONCE)).all()
        session.execute(sa.delete(table).where(table.c.id.in_(gone)))
