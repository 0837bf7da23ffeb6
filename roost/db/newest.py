"""Histories that do not grow for ever: of all rows that belong together the newest are kept."""

import sqlalchemy as sa

from roost.db.engine import Session


def keep(
    session: Session,
    table: sa.Table,
    mine: sa.ColumnElement[bool],
    count: int,
    *old: sa.ColumnElement[bool],
) -> None:
    """Delete rows but the newest so many, by their ``id``.

    :param mine: which rows belong together
    :param old: conditions that a row must meet, too, to be deleted
    """
    newest = sa.select(table.c.id).where(mine).order_by(table.c.id.desc())
    too_old = session.scalars(newest.offset(count).limit(1)).first()
    if too_old is not None:
        session.execute(sa.delete(table).where(mine, table.c.id <= too_old, *old))
