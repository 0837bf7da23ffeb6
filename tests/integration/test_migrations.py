"""The histories, from nothing to the models, on PostgreSQL and MariaDB."""

import concurrent.futures
import importlib

import pytest
import sqlalchemy as sa
from alembic import autogenerate
from alembic.runtime.migration import MigrationContext

from roost import exception, migrations
from roost.db.engine import Database


@pytest.fixture(params=migrations.SCHEMAS)
def schema(request):
    return request.param


@pytest.fixture
def database(database_url):
    database = Database(database_url, connections=8)
    yield database
    database.close()


def differences(database, schema):
    models = importlib.import_module(f"roost.db.{schema}.models")
    options = {"version_table": migrations.version_table(schema), "compare_server_default": True}
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        return autogenerate.compare_metadata(context, models.metadata)


def test_a_history_ends_at_the_models(database, schema):
    migrations.sync(database, schema)

    assert differences(database, schema) == []
    migrations.check(database, schema)


def test_the_schema_is_as_the_models_would_make_it(database_server, database, schema):
    """The comparison above overlooks what it does not know; here the columns speak themselves."""
    migrations.sync(database, schema)
    models = importlib.import_module(f"roost.db.{schema}.models")

    migrated = described(database, models.metadata.tables)
    with database.begin() as session:
        models.metadata.drop_all(session)
        models.metadata.create_all(session)

    assert migrated == described(database, models.metadata.tables)


def described(database, tables):
    """Return columns with types, collations and nullability, and keys, by table."""
    inspector = sa.inspect(database.engine)
    return {
        table: {
            "columns": {
                column["name"]: (repr(column["type"]), column["nullable"])
                for column in inspector.get_columns(table)
            },
            "primary": inspector.get_pk_constraint(table)["constrained_columns"],
            "unique": sorted(
                sorted(found["column_names"]) for found in inspector.get_unique_constraints(table)
            ),
            "foreign": [
                (found["constrained_columns"], found["referred_table"], found["options"])
                for found in inspector.get_foreign_keys(table)
            ],
        }
        for table in tables
    }


def test_syncs_at_once_all_succeed(database):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        syncs = [pool.submit(migrations.sync, database, "cell") for _ in range(4)]

    assert [sync.exception() for sync in syncs] == [None] * 4


def test_names_keep_their_case_and_every_character(database):
    migrations.sync(database, "api")
    limits = importlib.import_module("roost.db.api.models").quota_limits
    rows = [
        {"project_id": project, "resource": "cores", "hard_limit": 1} for project in ("Á😀", "á😀")
    ]
    with database.begin() as session:
        session.execute(sa.insert(limits), rows)
        found = session.scalars(sa.select(limits.c.project_id).where(limits.c.project_id == "Á😀"))

        assert found.all() == ["Á😀"]


def test_a_database_that_is_not_there_is_unavailable(database_server):
    missing = Database(database_server.url("roost_nobody_made_this"))

    with pytest.raises(exception.Unavailable, match="cannot be reached"):
        migrations.check(missing, "api")
