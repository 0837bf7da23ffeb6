"""Databases of a world: real SQL on SQLite in memory, by the world's clock, that come and go.

There is one connection per database for all daemons: their transactions take turns, and each may
end with its daemon, fail, or be committed without anybody hearing of it.
"""

import contextlib
import datetime
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_db.sqlalchemy import exc_filters

from roost import exception
from roost.db.engine import Database
from tests.simulation.fault_model import Calm
from tests.simulation.loop import BEGINNING, Loop, current
from tests.simulation.substitutes import Lock


class Disks:
    """The databases, kept from world to world, and what they are at the beginning of each.

    :param files: URL -> file to start from
    """

    def __init__(self, files: Mapping[str, str]) -> None:
        self._connections: dict[str, sqlite3.Connection] = {}
        self._first: dict[str, sqlite3.Connection] = {}
        self.engines: dict[str, sa.Engine] = {}
        for url, path in files.items():
            self._first[url] = _in_memory()
            with contextlib.closing(sqlite3.connect(path)) as file:
                file.backup(self._first[url])
            self._connections[url] = _in_memory()
            self.engines[url] = self._engine(self._connections[url])

    def writes(self, url: str) -> int:
        """Return a number that grows with each row that is written."""
        return self._connections[url].total_changes

    def reset(self) -> None:
        for url, connection in self._connections.items():
            self._first[url].backup(connection)

    def keep(self) -> None:
        """Let later worlds begin with what is there now."""
        for url, connection in self._connections.items():
            connection.backup(self._first[url])

    def _engine(self, connection: sqlite3.Connection) -> sa.Engine:
        engine = sa.create_engine("sqlite://", creator=lambda: connection, poolclass=sa.StaticPool)
        exc_filters.register_engine(engine)
        sa.event.listen(engine, "begin", lambda session: session.exec_driver_sql("BEGIN"))
        return engine


class Servers:
    """The database servers of one world."""

    def __init__(self, loop: Loop, sea: Calm, disks: Disks) -> None:
        self.loop, self.sea, self.disks = loop, sea, disks
        self.away: set[str] = set()
        self.turns = {url: Lock() for url in disks.engines}
        self._urls = {name_of(url): url for url in disks.engines}
        self._read: dict[str, tuple[int, Any]] = {}

    def open(self, url: str, **_options: object) -> "SimDatabase":
        return SimDatabase(self, url)

    def read(self, name: str, ask: Callable[[sa.Connection], Any]) -> Any:
        """Ask a database from outside of the world, always the same; again once it has changed."""
        url = self._urls[name]
        writes = self.disks.writes(url)
        if self._read.get(name, (None,))[0] != writes:
            with self.disks.engines[url].begin() as session:
                self._read[name] = (writes, ask(session))
        return self._read[name][1]

    def check(self, url: str) -> None:
        if url in self.away:
            raise exception.Unavailable(f"the database {url} cannot be reached: it is away")

    def point(self, what: str) -> None:
        assert self.loop.task is not None
        self.sea.totals["transactions"] += 1
        self.sea.point(self.loop.task.owner, what)


class SimDatabase(Database):
    def __init__(self, servers: Servers, url: str) -> None:
        super().__init__(url)
        self._servers = servers
        self._name = name_of(url)

    @property
    def engine(self) -> sa.Engine:
        return self._servers.disks.engines[self.url]

    @contextlib.contextmanager
    def _transaction(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        servers, writes = self._servers, not engine.get_execution_options().get("reads")
        task = servers.loop.task
        assert task is not None
        if task.within == self.url:
            raise servers.loop.forbidden(f"a transaction within a transaction on {self._name}")
        servers.loop.sleep(servers.sea.pause())
        with servers.turns[self.url]:
            servers.check(self.url)
            with super()._transaction(engine) as session:
                task.within, before = self.url, task.within
                try:
                    yield session
                finally:
                    task.within = before
                if writes:
                    servers.point(f"before commit on {self._name}")
                    if servers.sea.loses("transactions broken off"):
                        raise db_exception.DBConnectionError
            if writes and servers.sea.loses("commits without an answer"):
                with super()._transaction(engine):
                    raise db_exception.DBConnectionError
        if writes:
            servers.point(f"after commit on {self._name}")

    def close(self) -> None:
        """The next daemon goes on with it."""


def name_of(url: str) -> str:
    return url.rpartition("/")[2].removesuffix(".sqlite")


def _in_memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys=ON")
    connection.create_function("strftime", 2, _strftime)
    return connection


def _strftime(form: str, when: str) -> str:
    """SQLite's clock, as far as we use it: the time now, with microseconds."""
    assert (form, when) == ("%Y-%m-%d %H:%M:%f000", "now"), "the world knows no such clock"
    loop = current()
    now = datetime.datetime.fromtimestamp(BEGINNING + (loop.now if loop else 0), datetime.UTC)
    return now.strftime("%Y-%m-%d %H:%M:%S.%f")
