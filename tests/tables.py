"""SQLite databases with the tables of a schema, for tests that need one each."""

import functools
import pathlib
import tempfile

from roost.db.engine import Database


def make(path, metadata):
    """Make a database in a file: a copy of one that was made before, which is far less work."""
    pathlib.Path(path).write_bytes(_empty(metadata))
    return Database(f"sqlite:///{path}")


@functools.cache
def _empty(metadata):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "empty.sqlite"
        database = Database(f"sqlite:///{path}")
        metadata.create_all(database.engine)
        database.close()
        return path.read_bytes()
