"""PostgreSQL and MariaDB for tests that others run on SQLite: databases that are kept and emptied.

Making one takes longer than most of these tests, so each process makes each kind of them once.
"""

import pytest

from roost.db.engine import Database
from roost.rig.services import unique_name

__all__ = ["kept_in_mariadb", "kept_in_postgresql", "make_database", "server"]


class Kept:
    """The databases of one server, by name and tables."""

    def __init__(self, server):
        self.server = server
        self._made = {}

    def get(self, name, metadata):
        key = (name, id(metadata))
        if key not in self._made:
            database_name = unique_name("test")
            database = Database(self.server.create_database(database_name), connections=16)
            metadata.create_all(database.engine)
            self._made[key] = (database_name, database)
        return self._made[key][1]

    def drop(self):
        for database_name, database in self._made.values():
            database.close()
            self.server.drop_database(database_name)


@pytest.fixture(scope="session")
def kept_in_postgresql(postgresql):
    kept = Kept(postgresql)
    yield kept
    kept.drop()


@pytest.fixture(scope="session")
def kept_in_mariadb(mariadb):
    kept = Kept(mariadb)
    yield kept
    kept.drop()


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def server(request):
    """What is kept in a database server of each kind in turn."""
    return request.getfixturevalue(f"kept_in_{request.param}")


@pytest.fixture
def make_database(server):
    """The same promise as on SQLite: what is made is empty."""
    made = []

    def make(name, metadata):
        database = server.get(name, metadata)
        made.append(database)
        with database.begin() as session:
            for table in reversed(metadata.sorted_tables):
                session.execute(table.delete())
        return database

    yield make
    for database in made:
        vars(database).pop("read", None)  # what a test put in the way
        vars(database).pop("begin", None)
