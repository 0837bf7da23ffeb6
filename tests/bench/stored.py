"""How much a rig keeps: rows of its databases, files of its hosts."""

import collections

import sqlalchemy as sa

from roost.db.engine import Database


def rows(plan):
    """Return how many rows all tables of all databases have."""
    return rows_by_table(plan).total()


def rows_by_table(plan):
    """Return how many rows each table has, those of all cells together."""
    found = collections.Counter()
    for name in plan.databases:
        found.update(_rows(plan.database_url(name)))
    return found


def files(plan):
    """Return how many files there are below the rig's folder."""
    return sum(path.is_file() for path in plan.state.rglob("*"))


def _rows(url):
    database, tables = Database(url, connections=1), sa.MetaData()
    try:
        with database.read() as session:
            tables.reflect(session)
            return {
                table.name: session.scalar(sa.select(sa.func.count()).select_from(table))
                for table in tables.sorted_tables
            }
    finally:
        database.close()
