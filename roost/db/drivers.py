"""Engines for PostgreSQL, MariaDB/MySQL and SQLite: defaults of their URLs, and timeouts.

Used by :mod:`roost.db.engine` only.
"""

import dataclasses
import datetime
import functools
import math
import sqlite3
import ssl
import time
import weakref
from typing import Any, Final

import psycopg
import pymysql.connections  # type: ignore[import-untyped]
import sqlalchemy as sa
from oslo_db.sqlalchemy import engines, exc_filters

from roost import concurrency
from roost.db import errors

_MYSQL: Final = ("mysql", "mariadb")
_FRESH_SECONDS: Final = 0.5  # no server restarts so fast
_OPENINGS: Final = 200  # tries, of a twentieth of a second each
_IN_TRANSACTION: Final = 1  # SERVER_STATUS_IN_TRANS, in MySQL's protocol
_GRACE_SECONDS: Final = 1  # for what the server says when it ends a statement


@dataclasses.dataclass(frozen=True)
class Timeouts:
    """Timeouts for a server, in seconds: to connect, and for each of its answers.

    ``answer`` None: no timeout. After that time the server ends a statement, and an idle
    transaction, since its locks keep others waiting; if the server does not, the client closes the
    connection a second later.
    """

    connect: float
    answer: float | None


def make_engine(url: sa.URL, *, connections: int, patience: Timeouts) -> sa.Engine:
    """Return the engine of a database; nothing is connected yet.

    :param connections: the size of the pool
    """
    backend = url.get_backend_name()
    if backend == "sqlite":
        return _sqlite_engine(url, connections)
    engine: sa.Engine = engines.create_engine(
        _completed(url, patience).render_as_string(hide_password=False),
        max_pool_size=connections,
        max_overflow=0,
        pool_timeout=30,
        max_retries=0,
        mysql_sql_mode="TRADITIONAL",
        thread_checkin=False,
    )
    _ask_only_the_idle(engine)
    _leave_standbys(engine)
    if patience.answer is not None:
        _bound_answers(engine, patience.answer)
    if backend in _MYSQL:
        _share_ssl_context(engine)
        _read_committed(engine)
        _parse_less(engine)
    _begin_only_to_write(engine)
    return engine


def _completed(url: sa.URL, patience: Timeouts) -> sa.URL:
    """Return the URL with the defaults of what it leaves open.

    Psycopg 3 cannot be made cooperative; under eventlet psycopg2 replaces it. MySQL's "utf8", which
    oslo.db would set, lacks characters beyond the Basic Multilingual Plane.
    """
    if concurrency.selected() == concurrency.EVENTLET and url.drivername == "postgresql+psycopg":
        url = url.set(drivername="postgresql+psycopg2")
    is_mysql = url.get_backend_name() in _MYSQL
    defaults = _mysql_defaults(patience) if is_mysql else _postgresql_defaults(patience)
    return url.update_query_dict({**defaults, **url.query})


def _mysql_defaults(patience: Timeouts) -> dict[str, str]:
    defaults = {"charset": "utf8mb4", "connect_timeout": _whole(patience.connect)}
    if patience.answer is not None:
        seconds = _whole(patience.answer + _GRACE_SECONDS)
        defaults |= {"read_timeout": seconds, "write_timeout": seconds}
    return defaults


def _postgresql_defaults(patience: Timeouts) -> dict[str, str]:
    """TCP timeouts detect a lost server; psycopg's own a hung one whose kernel still answers."""
    defaults = {"connect_timeout": _whole(patience.connect)}
    if patience.answer is not None:
        milliseconds = math.ceil(1000 * patience.answer)
        third = _whole(patience.answer / 3)
        defaults |= {
            "tcp_user_timeout": str(milliseconds),
            "keepalives_idle": third,
            "keepalives_interval": third,
            "keepalives_count": "2",
            "options": f"-c statement_timeout={milliseconds}"
            f" -c idle_in_transaction_session_timeout={milliseconds}",
        }
    return defaults


def _whole(seconds: float) -> str:
    return str(max(1, math.ceil(seconds)))


def _bound_answers(engine: sa.Engine, seconds: float) -> None:
    if engine.dialect.driver == "psycopg":
        _wait_bounded(engine, seconds)
    elif engine.dialect.name in _MYSQL:
        _bound_mariadb(engine, seconds)


class _BoundedConnection(psycopg.Connection[Any]):
    """Closes the connection to a server that does not answer in time; libpq has no such timeout."""

    answer_seconds: float

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for one answer.

        :raises psycopg.OperationalError: when it does not come in time; the connection is closed
        """
        begun = time.monotonic()
        try:
            return super().wait(gen, interval, timeout or self.answer_seconds)
        except psycopg.OperationalError:
            if time.monotonic() - begun >= self.answer_seconds:
                self.close()  # a late answer would be taken for that of another statement
            raise


def _wait_bounded(engine: sa.Engine, seconds: float) -> None:
    class Bounded(_BoundedConnection):
        answer_seconds = seconds + _GRACE_SECONDS

    @sa.event.listens_for(engine, "do_connect")
    def _on_connect(_dialect: Any, _record: Any, args: Any, arguments: dict[str, Any]) -> Any:
        return Bounded.connect(*args, **arguments)


def _bound_mariadb(engine: sa.Engine, seconds: float) -> None:
    """Let MariaDB end statements and transactions after the timeout; MySQL cannot."""

    @sa.event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: Any) -> None:
        if "mariadb" in connection.get_server_info().lower():
            with connection.cursor() as cursor:
                cursor.execute(
                    f"SET SESSION max_statement_time={seconds},"
                    f" idle_write_transaction_timeout={_whole(seconds)}"
                )


def _read_committed(engine: sa.Engine) -> None:
    """Set READ COMMITTED, PostgreSQL's default: REPEATABLE READ locks gaps, where inserts deadlock.

    Set once per connection: SQLAlchemy's own option sets and resets it around every transaction,
    and errors that the driver raises then reach us unwrapped.
    """

    @sa.event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")


def _begin_only_to_write(engine: sa.Engine) -> None:
    """Spare reads their BEGIN and COMMIT, and all transactions the ROLLBACK after their COMMIT.

    Connections commit each statement by themselves, but for transactions that may write. Of several
    reads each sees what is committed then, as always in READ COMMITTED.
    """
    dialect: Any = engine.dialect
    end = {"COMMIT": dialect.do_commit, "ROLLBACK": dialect.do_rollback}
    if dialect.driver == "psycopg2":  # it ends only the transactions that it has begun itself
        end = {how: functools.partial(_execute, how) for how in end}

    def end_begun(how: str, connection: Any) -> None:
        if _is_in_transaction(dialect, connection):
            end[how](connection)

    dialect.do_commit = functools.partial(end_begun, "COMMIT")
    dialect.do_rollback = functools.partial(end_begun, "ROLLBACK")

    @sa.event.listens_for(engine, "connect", insert=True)  # before statements of others
    def _on_connect(connection: Any, _record: Any) -> None:
        if engine.dialect.name in _MYSQL:
            connection.autocommit(True)
        else:
            connection.autocommit = True

    @sa.event.listens_for(engine, "begin")
    def _on_begin(connection: sa.Connection) -> None:
        if not connection.get_execution_options().get("reads"):
            connection.exec_driver_sql("BEGIN")


def _is_in_transaction(dialect: Any, connection: Any) -> bool:
    """Return what the server has said last, without a round trip."""
    connection = getattr(connection, "dbapi_connection", connection)  # at the first connect
    if dialect.name in _MYSQL:
        return bool(connection.server_status & _IN_TRANSACTION)
    return bool(connection.info.transaction_status)  # 0: it is idle


def _execute(statement: str, connection: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _ask_only_the_idle(engine: sa.Engine) -> None:
    """Ping a connection before a transaction, unless it was in use just before.

    So a restart of the server fails no transaction, and a busy connection needs no round trip.
    """
    rested: weakref.WeakKeyDictionary[Any, float] = weakref.WeakKeyDictionary()
    dialect: Any = engine.dialect
    ask = dialect.do_ping

    @sa.event.listens_for(engine, "checkin")
    def _on_checkin(connection: Any, _record: Any) -> None:
        if connection is not None:
            rested[connection] = time.monotonic()

    def ping(connection: Any) -> bool:
        since = time.monotonic() - rested.get(connection, float("-inf"))
        return since < _FRESH_SECONDS or bool(ask(connection))

    dialect.do_ping = ping


def _leave_standbys(engine: sa.Engine) -> None:
    """Treat a read-only server (a former primary) as disconnected, with the whole pool."""
    dialect: Any = engine.dialect
    is_disconnect = dialect.is_disconnect

    def is_gone(error: Exception, *more: Any) -> bool:
        return errors.is_read_only(error) or bool(is_disconnect(error, *more))

    dialect.is_disconnect = is_gone


def _sqlite_engine(url: sa.URL, connections: int) -> sa.Engine:
    """Allow readers beside one writer; the next writer waits instead of failing.

    A transaction that reads first and writes later could not wait: its snapshot would be stale. So
    every transaction that may write takes the write lock when it begins. Connections stay open: the
    last one that closes would clear the write-ahead log each time.
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
        _keep_log_ahead(connection)
        for setting in ("synchronous=NORMAL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {setting}")

    @sa.event.listens_for(engine, "begin")
    def _on_begin(connection: sa.Connection) -> None:
        reads = connection.get_execution_options().get("reads")
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine


def _keep_log_ahead(connection: Any) -> None:
    """Set WAL mode, with retries: SQLite fails at once, without waiting, while another sets it."""
    for last in (*[False] * _OPENINGS, True):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if last:
                raise
            time.sleep(0.05)
        else:
            return


def _share_ssl_context(engine: sa.Engine) -> None:
    """Share one TLS context, and use TLS only if the URL configures it (``?ssl_ca=...``).

    PyMySQL creates a context per connection, 0.9 MB and 18 ms each, even when it is not used.
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


def _parse_less(engine: sa.Engine) -> None:
    """Let PyMySQL parse the description of each column once, not with each answer; and times in C.

    The first is half of what it costs a daemon to read one wide row.
    """
    parse = pymysql.connections.FieldDescriptorPacket
    if not hasattr(parse, "cache_info"):
        pymysql.connections.FieldDescriptorPacket = functools.lru_cache(maxsize=4096)(parse)

    @sa.event.listens_for(engine, "do_connect")
    def _on_connect(_dialect: Any, _record: Any, _args: Any, arguments: dict[str, Any]) -> None:
        usual = pymysql.converters.conversions
        arguments["conv"] = {**usual, pymysql.constants.FIELD_TYPE.DATETIME: _time}


def _time(text: str) -> Any:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:  # such as the zero of MariaDB
        return pymysql.converters.convert_datetime(text)


def _ssl_context(wanted: dict[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=wanted.get("ssl_ca") or wanted.get("ca"))
    certificate = wanted.get("ssl_cert") or wanted.get("cert")
    if certificate:
        context.load_cert_chain(certificate, wanted.get("ssl_key") or wanted.get("key"))
    return context
