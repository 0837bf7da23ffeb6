"""Engines and transactions: the one place that knows how a database is reached.

>>> with databases.begin() as session:      # one step is one transaction
...     instances.get(session, uuid)
"""

import contextlib
import functools
import ssl
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_db.sqlalchemy import engines, exc_filters

from roost import concurrency, exception

P = ParamSpec("P")
R = TypeVar("R")
Session = sa.Connection  # in a transaction: all that the functions of db/ are given

CONNECT_SECONDS = 10

# What a database that is down, away, unknown or closed to us answers with, driver by driver.
UNREACHABLE = (
    db_exception.DBConnectionError,
    db_exception.DBNonExistentDatabase,
    sa.exc.OperationalError,
    sa.exc.TimeoutError,
)


class Deadlock(exception.Unavailable):
    """The database ended this transaction so that another could go on; it may be run again."""


class Database:
    """One database, reached by URL. Connects on first use, so it may be made before a fork.

    :param connections: the size of the pool; as many threads may be in a transaction at once
    """

    def __init__(self, url: str, *, connections: int = 64) -> None:
        self.url = url
        self._connections = connections

    @functools.cached_property
    def engine(self) -> sa.Engine:
        url = sa.make_url(self.url)
        if url.get_backend_name() == "sqlite":
            return _sqlite_engine(url, self._connections)
        engine: sa.Engine = engines.create_engine(
            _completed(url).render_as_string(hide_password=False),
            max_pool_size=self._connections,
            max_overflow=0,
            pool_timeout=30,
            max_retries=0,
            mysql_sql_mode="TRADITIONAL",
        )
        if url.get_backend_name() in ("mysql", "mariadb"):
            _share_ssl_context(engine)
            # As PostgreSQL does by default. REPEATABLE READ locks gaps, where inserts deadlock.
            engine = engine.execution_options(isolation_level="READ COMMITTED")
        return engine

    def begin(self) -> contextlib.AbstractContextManager[Session]:
        """Run a transaction: committed at the end of the block, rolled back if it raises.

        :raises roost.exception.Unavailable: when the database cannot be reached
        :raises Deadlock: when the database chose this transaction as the victim of a deadlock
        """
        return self._transaction(self.engine)

    def read(self) -> contextlib.AbstractContextManager[Session]:
        """Run a transaction that only reads; on SQLite it does not wait for the writer."""
        return self._transaction(self.engine.execution_options(reads=True))

    @contextlib.contextmanager
    def _transaction(self, engine: sa.Engine) -> Iterator[Session]:
        try:
            with engine.begin() as session:
                yield session
        except UNREACHABLE as error:
            raise unreachable(self, error) from error
        except db_exception.DBError as error:
            if _is_deadlock(error):
                raise Deadlock(f"a deadlock in {self}, and this was its victim") from error
            raise

    def close(self) -> None:
        if "engine" in self.__dict__:
            self.engine.dispose()

    def __str__(self) -> str:
        return sa.make_url(self.url).render_as_string(hide_password=True)


def unreachable(database: Database, error: Exception) -> exception.Unavailable:
    """Tell what the driver said: what SQLAlchemy wraps around it has values of users."""
    inner = getattr(error, "inner_exception", None) or error
    why = str(getattr(inner, "orig", None) or inner).partition("\n[SQL: ")[0].strip()
    return exception.Unavailable(f"the database {database} cannot be reached: {why}")


def retried(step: Callable[P, R]) -> Callable[P, R]:
    """Run a step again when the database chose it as the victim of a deadlock."""

    @functools.wraps(step)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        for _ in range(4):
            with contextlib.suppress(Deadlock):
                return step(*args, **kwargs)
        return step(*args, **kwargs)

    return run


def _completed(url: sa.URL) -> sa.URL:
    """Say what the URL leaves open.

    Psycopg 3 cannot be made cooperative; under eventlet psycopg2 stands in for it. MySQL's "utf8",
    which oslo.db would ask for, is not all of it. And nobody waits minutes for a silent firewall.
    """
    if concurrency.selected() == concurrency.EVENTLET and url.drivername == "postgresql+psycopg":
        url = url.set(drivername="postgresql+psycopg2")
    defaults = {"connect_timeout": str(CONNECT_SECONDS)}
    if url.get_backend_name() in ("mysql", "mariadb"):
        defaults["charset"] = "utf8mb4"
    return url.update_query_dict({**defaults, **url.query})


def _is_deadlock(error: BaseException | None) -> bool:
    """On MariaDB a deadlock also ends the savepoints, and their rollback fails on top of it."""
    while error is not None and not isinstance(error, db_exception.DBDeadlock):
        error = getattr(error, "cause", None) or error.__cause__ or error.__context__
    return error is not None


def _sqlite_engine(url: sa.URL, connections: int) -> sa.Engine:
    """Readers beside one writer; the next writer waits for its turn instead of failing.

    A transaction that reads first and writes later could not wait: its view would be stale. So
    every transaction that may write takes the writer's place when it begins. Connections are kept:
    the last one that closes would clear the write-ahead log each time.
    """
    engine = sa.create_engine(
        url,
        poolclass=sa.QueuePool,
        pool_size=connections,
        max_overflow=0,
        connect_args={"timeout": 30, "check_same_thread": False},
    )
    exc_filters.register_engine(engine)

    @sa.event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, and only there
        for setting in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {setting}")

    @sa.event.listens_for(engine, "begin")
    def _on_begin(connection: sa.Connection) -> None:
        reads = connection.get_execution_options().get("reads")
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine


def _share_ssl_context(engine: sa.Engine) -> None:
    """PyMySQL makes a TLS context per connection, 0.9 MB and 18 ms each, even when it is not used.

    So there is TLS when the URL asks for it (``?ssl_ca=...``), with one context for all.
    """
    shared: list[ssl.SSLContext] = []

    @sa.event.listens_for(engine, "do_connect")
    def _on_connect(_dialect: Any, _record: Any, _args: Any, arguments: dict[str, Any]) -> None:
        wanted = {key: arguments.pop(key) for key in list(arguments) if key.startswith("ssl")}
        wanted.update(wanted.pop("ssl", {}))
        if not wanted:
            arguments["ssl_disabled"] = True
            return
        if not shared:
            shared.append(_ssl_context(wanted))
        arguments["ssl"] = shared[0]


def _ssl_context(wanted: dict[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=wanted.get("ssl_ca") or wanted.get("ca"))
    certificate = wanted.get("ssl_cert") or wanted.get("cert")
    if certificate:
        context.load_cert_chain(certificate, wanted.get("ssl_key") or wanted.get("key"))
    return context
