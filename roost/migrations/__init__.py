"""The histories of the three schemas, and the way from any version to the present one.

Each schema keeps its version in a table of its own, so that several may share a database. There
is a way up only: a change that must be undone is undone by the next revision. Between neighbouring
releases changes only add, so daemons of the release before go on working on the newer schema.
"""

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any, Final, Protocol

import sqlalchemy as sa
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
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


class Database(Protocol):
    """What migrations need of a database; its string names it without secrets."""

    @property
    def engine(self) -> sa.Engine: ...


def sync(database: Database, schema: str, revision: str = "head") -> None:
    """Bring a database up to a revision; nothing happens when it is there already.

    Two that run at once do it once: the second waits for the first.

    :raises roost.exception.Invalid: when there is no such revision, or it lies in the past
    :raises roost.exception.Unavailable: when the database cannot be reached
    """
    scripts = _scripts(schema)

    def upgrade(current: Any, _context: MigrationContext) -> Any:
        return scripts._upgrade_revs(revision, current)  # noqa: SLF001 - what alembic's own does

    with _connected(database) as connection, _alone(connection, schema):
        environment = EnvironmentContext(Config(), scripts, fn=upgrade, destination_rev=revision)
        try:
            with environment:
                environment.configure(connection=connection, version_table=version_table(schema))
                with environment.begin_transaction():
                    environment.run_migrations()
        except CommandError as error:
            raise exception.Invalid(f"cannot bring {database} to {revision}: {error}") from error


def version(database: Database, schema: str) -> str | None:
    """Return the revision that a database is at; None: the schema is not there.

    :raises roost.exception.Unavailable: when the database cannot be reached
    """
    with _connected(database) as connection:
        options = {"version_table": version_table(schema)}
        return MigrationContext.configure(connection, opts=options).get_current_revision()


def head(schema: str) -> str:
    """Return the newest revision that this release knows."""
    newest = _scripts(schema).get_current_head()
    if newest is None:
        raise exception.Internal(f"the history of {schema} is empty")
    return newest


def check(database: Database, schema: str) -> None:
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


def _scripts(schema: str) -> ScriptDirectory:
    version_table(schema)
    return ScriptDirectory(str(_HERE / schema))


@contextlib.contextmanager
def _connected(database: Database) -> Iterator[sa.Connection]:
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
    finally:
        if kind in ("mysql", "mariadb"):
            connection.execute(sa.text("SELECT RELEASE_LOCK(:name)"), {"name": name})
