"""How much a rig keeps: rows of its databases, files of its hosts."""

import sqlalchemy as sa

from roost.db.engine import Database


def rows(plan):
    """Return how many rows all tables of all databases have."""
    return sum(_rows(plan.database_url(name)) for name in plan.databases)


def files(plan):
    """Return how many files there are below the rig's folder."""
    return sum(path.is_file() for path in plan.state.rglob("*"))


def _rows(url):
    database, tables = Database(url, connections=1), sa.MetaData()
    try:
        with database.read() as session:
            tables.reflect(session)
            counts = (sa.select(sa.func.count()).select_from(one) for one in tables.sorted_tables)
            return sum(session.scalar(count) for count in counts)
    finally:
        database.close()
