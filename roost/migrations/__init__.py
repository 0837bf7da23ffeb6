"""The histories of the three schemas, and the way from any version to the present one.

Each schema keeps its version in a table of its own, so that several may share a database. There is
a way up only: a change that must be undone is undone by the next revision. Between neighbouring
releases changes only add, so daemons of the release before go on working on the newer schema.

``sync`` and ``version`` below are the way in, for ``roost-manage db`` and tests; ``upgrade.py``
lets Alembic go the way. ``api/``, ``cell/`` and ``scheduler/`` are a history each, with a file per
revision in ``versions/``; revisions import ``types.py`` and nothing else of Roost, so they never
change. Imports ``roost.exception`` alone: tables of today are in ``db``, which stands above.
"""

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Final, Protocol

import sqlalchemy as sa
from oslo_db import exception as db_exception

from roost import exception

API: Final = "api"
CELL: Final = "cell"
SCHEDULER: Final = "scheduler"
SCHEMAS: Final = (API, CELL, SCHEDULER)
_HERE = pathlib.Path(__file__).parent
_UNREACHABLE = (
    db_exception.DBConnectionError,
    db_exception.DBNonExistentDatabase,
    sa.exc.OperationalError,
)


class MigratedDatabase(Protocol):
    """What migrations need of a database; its string names it without secrets."""

    @property
    def engine(self) -> sa.Engine: ...


def sync(database: MigratedDatabase, schema: str, revision: str = "head") -> None:
    """Bring a database up to a revision; nothing happens when it is there already.

    Two that run at once do it once: the second waits for the first.

    :raises roost.exception.Invalid: when there is no such revision, or it lies in the past
    :raises roost.exception.Unavailable: when the database cannot be reached
    """
    from roost.migrations import upgrade  # Alembic is large, and no daemon needs it

    with _connected(database) as connection, _alone(connection, schema):
        upgrade.upgrade(connection, schema, revision)


def version(database: MigratedDatabase, schema: str) -> str | None:
    """Return the revision that a database is at; None: the schema is not there.

    :raises roost.exception.Unavailable: when the database cannot be reached
    """
    name = version_table(schema)
    with _connected(database) as connection:
        if not sa.inspect(connection).has_table(name):
            return None
        return connection.scalar(sa.select(sa.column("version_num")).select_from(sa.table(name)))


def head(schema: str) -> str:
    """Return the newest revision that this release knows."""
    version_table(schema)
    revisions = (_HERE / schema / "versions").glob("[0-9]*.py")
    return max(path.name.partition("_")[0] for path in revisions)


def check(database: MigratedDatabase, schema: str) -> None:
    """Make sure that a database can be worked with; one that is newer than we are can.

    :raises roost.exception.Unavailable: when it cannot be reached or is behind; the message says
        what to do
    """
    present, needed = version(database, schema), head(schema)
    if present is not None and present >= needed:
        return
    found = f"is at version {present}" if present else f"has no {schema} schema"
    raise exception.Unavailable(
        f"the database {database} {found}, version {needed} is needed:"
        f" run roost-manage db sync {schema}",
        schema=schema,
        version=present,
        needed=needed,
    )


def version_table(schema: str) -> str:
    """Return the name of the table that holds the schema's version."""
    if schema not in SCHEMAS:
        raise exception.Invalid(f"there is no schema {schema!r}, only {', '.join(SCHEMAS)}")
    return f"roost_{schema}_version"


@contextlib.contextmanager
def _connected(database: MigratedDatabase) -> Iterator[sa.Connection]:
    try:
        with database.engine.begin() as connection:
            yield connection
    except _UNREACHABLE as error:
        wrapped = getattr(error, "inner_exception", error)  # by oslo.db, then by SQLAlchemy
        said = str(getattr(wrapped, "orig", wrapped)).strip()
        raise exception.Unavailable(f"the database {database} cannot be reached: {said}") from error


@contextlib.contextmanager
def _alone(connection: sa.Connection, schema: str) -> Iterator[None]:
    """Keep a second ``sync`` out; on SQLite the transaction itself does."""
    name = version_table(schema)
    kind = connection.dialect.name
    if kind == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtext(name))))
    if kind in ("mysql", "mariadb"):
        connection.execute(sa.text("SELECT GET_LOCK(:name, 600)"), {"name": name})
    try:
        yield
        if kind in ("mysql", "mariadb"):  # who waits is to read the version that it is at now
            connection.exec_driver_sql("COMMIT")
    finally:
        if kind in ("mysql", "mariadb"):
            connection.execute(sa.text("SELECT RELEASE_LOCK(:name)"), {"name": name})
