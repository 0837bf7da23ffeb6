"""The database functions, which the unit tests try on SQLite, on PostgreSQL and MariaDB."""

import pytest

from roost.db.engine import Database
from roost.rig.services import unique_name
from tests.functional.test_audit_repairs import (
    test_all_damage_at_once_is_repaired_too,
    test_servers_that_come_and_go_are_no_findings,
    world,
)
from tests.unit.db.test_api_level import *  # noqa: F403
from tests.unit.db.test_cell import *  # noqa: F403
from tests.unit.db.test_cell_services import *  # noqa: F403
from tests.unit.db.test_user_quotas import *  # noqa: F403

__all__ = [
    "test_all_damage_at_once_is_repaired_too",
    "test_servers_that_come_and_go_are_no_findings",
    "world",
]


@pytest.fixture
def make_database(database_server):
    """The same promise as on SQLite, kept by a database server of each kind in turn."""
    made = []

    def make(_name, metadata):
        name = unique_name("test")
        database = Database(database_server.create_database(name), connections=10)
        metadata.create_all(database.engine)
        made.append((name, database))
        return database

    yield make
    for name, database in made:
        database.close()
        database_server.drop_database(name)
