"""The histories, from nothing to the models, on SQLite."""

import importlib
import pathlib
import threading

import pytest
import sqlalchemy as sa
from alembic import autogenerate
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from roost import exception, migrations
from roost.db.engine import Database


@pytest.fixture(params=migrations.SCHEMAS)
def schema(request):
    return request.param


@pytest.fixture
def database(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/roost.sqlite")
    yield database
    database.close()


def differences(database, schema):
    models = importlib.import_module(f"roost.db.{schema}.models")
    options = {
        "version_table": migrations.version_table(schema),
        "compare_server_default": True,
    }
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        return autogenerate.compare_metadata(context, models.metadata)


def test_a_history_ends_at_the_models(database, schema):
    migrations.sync(database, schema)

    assert differences(database, schema) == []


def test_the_comparison_sees_what_is_missing(database, schema):
    migrations.sync(database, schema)
    table = min(importlib.import_module(f"roost.db.{schema}.models").metadata.tables)
    with database.begin() as session:
        session.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN surprise INTEGER"))

    assert [found[0] for found in differences(database, schema)] == ["remove_column"]


def test_a_synced_database_is_at_the_head_and_may_be_synced_again(database, schema):
    migrations.sync(database, schema)
    migrations.sync(database, schema)

    assert migrations.version(database, schema) == migrations.head(schema)
    migrations.check(database, schema)


def test_a_database_without_schema_is_refused_with_the_command_that_helps(database):
    with pytest.raises(exception.Unavailable) as refused:
        migrations.check(database, "cell")

    assert "has no cell schema" in refused.value.message
    assert "roost-manage db sync cell" in refused.value.message


def test_an_old_database_is_refused_with_both_versions(database):
    stamp(database, "api", "0000")

    with pytest.raises(exception.Unavailable, match=r"at version 0000, version \d{4} is needed"):
        migrations.check(database, "api")


def test_a_newer_database_is_worked_with(database):
    stamp(database, "api", "9999")

    migrations.check(database, "api")


def test_a_newer_database_is_not_synced(database):
    stamp(database, "api", "9999")

    with pytest.raises(exception.Invalid, match="9999"):
        migrations.sync(database, "api")


def test_two_syncs_at_once_both_succeed(tmp_path):
    failures = []

    def sync():
        database = Database(f"sqlite:///{tmp_path}/raced.sqlite")
        try:
            migrations.sync(database, "cell")
        except Exception as error:  # noqa: BLE001 - the thread's only way to tell
            failures.append(error)
        finally:
            database.close()

    threads = [threading.Thread(target=sync) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []


def test_revisions_are_numbered_without_gaps(schema):
    folder = pathlib.Path(migrations.__file__).parent / schema
    revisions = sorted(each.revision for each in ScriptDirectory(str(folder)).walk_revisions())

    assert revisions == [f"{number:04}" for number in range(1, len(revisions) + 1)]
    assert migrations.head(schema) == revisions[-1]


def stamp(database, schema, revision):
    with database.begin() as session:
        table = migrations.version_table(schema)
        session.execute(sa.text(f"CREATE TABLE {table} (version_num VARCHAR(32) NOT NULL)"))
        session.execute(sa.text(f"INSERT INTO {table} VALUES ('{revision}')"))
