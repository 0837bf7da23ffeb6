"""Write the next revision of a schema: what its models have and its history lacks.

    .venv/bin/python tools/new_revision.py cell "remember who locked an instance"

Compares the models with an SQLite database brought up to the present head. What comes out is a
draft (renames, data and order are yours), and the tests of the migrations must pass with it.
"""

import argparse
import importlib
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any

import sqlalchemy as sa
from alembic import autogenerate
from alembic.runtime.migration import MigrationContext

from roost import migrations
from roost.db import types
from roost.db.engine import Database

_FROZEN = {types.Uuid: "UUID", types.UtcDateTime: "TIME", types.StringList: "LONG_TEXT"}
_VARIANTS = {"sqlite": "KEY", "mysql": "LONG_TEXT"}
_TEMPLATE = '''"""{message}."""

import sqlalchemy as sa
from alembic import op

from roost.migrations.types import KEY, LONG_TEXT, TABLE, TIME, UUID

revision = "{revision}"
down_revision = {parent}


def upgrade() -> None:
{changes}
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("schema", choices=migrations.SCHEMAS)
    parser.add_argument("message", help="what it does, in a few words")
    arguments = parser.parse_args()
    folder = pathlib.Path(migrations.__file__).parent / arguments.schema / "versions"
    parent = max((path.name[:4] for path in folder.glob("[0-9]*.py")), default=None)
    written = _write(
        folder,
        parent=parent,
        message=arguments.message,
        changes=_changes(arguments.schema, synced=parent is not None),
    )
    print(written)


def _changes(schema: str, *, synced: bool) -> str:
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/{schema}.sqlite")
        if synced:
            migrations.sync(database, schema)
        with database.engine.connect() as connection:
            found = _compared(connection, schema)
        database.close()
    if found is None:
        sys.exit(f"the history of {schema} ends at its models: there is nothing to write")
    return found


def _compared(connection: sa.Connection, schema: str) -> str | None:
    models = _named(importlib.import_module(f"roost.db.{schema}.models").metadata)
    options = {
        "version_table": migrations.version_table(schema),
        "target_metadata": models,
        "sqlalchemy_module_prefix": "sa.",
        "alembic_module_prefix": "op.",
        "user_module_prefix": "",
        "render_item": _frozen_type,
    }
    context = MigrationContext.configure(connection, opts=options)
    operations = autogenerate.produce_migrations(context, models).upgrade_ops
    if operations is None or operations.is_empty():
        return None
    code = autogenerate.render_python_code(
        operations, render_item=_frozen_type, migration_context=context
    )
    return _cleaned(code)


def _named(models: sa.MetaData) -> sa.MetaData:
    """Copy the models with a name for every unique constraint, so that a later one can drop it."""
    copy = sa.MetaData(
        naming_convention={
            "uq": "%(table_name)s_%(column_0_N_name)s_key",
            "ix": "ix_%(column_0_N_label)s",
        }
    )
    for table in models.tables.values():
        table.to_metadata(copy)
    return copy


def _frozen_type(kind: str, item: Any, _context: Any) -> str | bool:
    if kind != "type":
        return False
    if type(item) in _FROZEN:
        return _FROZEN[type(item)]
    variants = item._variant_mapping  # noqa: SLF001 - what with_variant() was told
    return next((name for key, name in _VARIANTS.items() if key in variants), False)


def _cleaned(code: str) -> str:
    lines = [line for line in code.splitlines() if not line.strip().startswith("#")]
    plain = re.sub(r"op\.f\(('[^']*')\)", r"\1", "\n".join(lines))
    unfinished = r"(op\.create_table\(.*?)\n\s*\)$"
    with_options = re.sub(unfinished, r"\1, **TABLE)", plain, flags=re.DOTALL | re.MULTILINE)
    return "\n".join("    " + line for line in with_options.splitlines())


def _write(folder: pathlib.Path, *, parent: str | None, message: str, changes: str) -> pathlib.Path:
    revision = f"{int(parent or 0) + 1:04}"
    words = "_".join(re.findall(r"[a-z0-9]+", message.lower()))
    path = folder / f"{revision}_{words}.py"
    quoted = f'"{parent}"' if parent else None
    path.write_text(
        _TEMPLATE.format(
            message=message[:1].upper() + message[1:],
            revision=revision,
            parent=quoted,
            changes=changes,
        )
    )
    ruff = [sys.executable, "-m", "ruff"]
    subprocess.run([*ruff, "check", "--fix", "--quiet", "--select", "F401,I", path], check=True)
    subprocess.run([*ruff, "format", "--quiet", path], check=True)
    return path


if __name__ == "__main__":
    main()
