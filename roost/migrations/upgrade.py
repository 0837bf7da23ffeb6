"""The way up a history, which Alembic goes."""

import pathlib
from typing import Any

import sqlalchemy as sa
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from roost import exception, migrations


def upgrade(connection: sa.Connection, schema: str, revision: str) -> None:
    """Bring a schema up to a revision, within the transaction of the connection.

    :raises roost.exception.Invalid: when there is no such revision, or it lies in the past
    """
    scripts = ScriptDirectory(str(pathlib.Path(__file__).parent / schema))

    def revisions(current: Any, _context: MigrationContext) -> Any:
        return scripts._upgrade_revs(revision, current)  # noqa: SLF001 - what alembic's own does

    environment = EnvironmentContext(Config(), scripts, fn=revisions, destination_rev=revision)
    table = migrations.version_table(schema)
    try:
        with environment:
            environment.configure(connection=connection, version_table=table)
            with environment.begin_transaction():
                environment.run_migrations()
    except CommandError as error:
        raise exception.Invalid(
            f"cannot bring the {schema} schema to {revision}: {error}"
        ) from error
