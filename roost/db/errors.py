"""What errors of drivers mean: a database is unavailable, or did not do what it was asked.

PostgreSQL is understood by its codes (SQLSTATE), MariaDB and MySQL by their numbers, SQLite by the
names of its errors. Only an error of the connection itself is held against a database: a statement
that it refused, cancelled or had no room for says that it is there.

Used by :mod:`roost.db.engine` and :mod:`roost.db.drivers` only.
"""

from collections.abc import Callable, Sequence
from typing import Final

import sqlalchemy as sa
from oslo_db import exception as db_exception

from roost.exception import Deadlock, Full, Lost, ReadOnly, Unavailable, Unfinished

# What drivers and pools raise that may be an error of the connection.
RAISED: Final = (db_exception.DBError, sa.exc.DBAPIError, sa.exc.TimeoutError)

_CONFLICTS: Final = {"40001", "40P01"}  # could not serialize; deadlock
_CUT_OFF: Final = ("08", "57P", "25P03")  # connection; shut down; idle for too long
_CLOSED_TO_US: Final = ("28", "3D000", "53300")  # password; no such database; connections
_READ_ONLY: Final = "25006"
_UNFINISHED: Final = ("53", "57014", "58")  # resources; cancelled; files

_MYSQL_FULL: Final = {1040, 1203, 1226}  # too many connections, of all or of this user
_MYSQL_CUT_OFF: Final = {
    *(1047, 1053, 1077, 1079),  # not ready for use; shutting down
    *(1152, 1158, 1159, 1160, 1161, 1184, 1927),  # broken while it was read or written; killed
    *(0, *range(2000, 2070), 4031),  # the client's own: no server, gone away, lost; idle too long
}
_MYSQL_CLOSED_TO_US: Final = {1044, 1045, 1049, 1129, 1130, 1698, *_MYSQL_FULL}
_MYSQL_READ_ONLY: Final = {1792, 1836}
_MYSQL_OPTION: Final = 1290  # "running with the --read-only option", or with another one
_MYSQL_UNFINISHED: Final = {
    *(1021, 1037, 1038, 1041, 1114),  # disk, memory, table are full
    *(1317, 1969, 3024),  # interrupted; took too long
}

_SQLITE_BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED")
_SQLITE_UNFINISHED: Final = ("SQLITE_FULL", "SQLITE_INTERRUPT", "SQLITE_NOMEM", "SQLITE_IOERR")
_FULL_WORDS: Final = ("too many clients", "too many connections", "remaining connection slots")
_DEADLOCKED: Final = (db_exception.DBDeadlock, db_exception.DBConsistencyError)


def meaning(error: Exception, *, name: str, begun: bool) -> Unavailable | None:
    """Return what an error means to those who asked for a transaction; None: it is of their doing.

    :param name: of the database, for the message
    :param begun: whether its server has begun a transaction
    """
    for is_meant, kind, told in _MEANINGS:
        if is_meant(error, begun):
            return kind(told.format(name, reason(error)))
    return None


def is_deadlock(error: BaseException | None) -> bool:
    """Tell whether a transaction gave way to another.

    On MariaDB a deadlock also ends the savepoints, and their rollback fails on top of it.
    """
    while error is not None:
        if isinstance(error, _DEADLOCKED) or _sqlstate(error) in _CONFLICTS:
            return True
        if _sqlite_name(error).startswith(_SQLITE_BUSY):
            return True
        error = getattr(error, "cause", None) or error.__cause__ or error.__context__
    return False


def is_read_only(error: BaseException) -> bool:
    """Tell whether a server takes no writes: it is a standby now, and another is the primary."""
    number = _number(error)
    if number == _MYSQL_OPTION:
        said = str(_raised(error)).lower()
        return "read-only" in said or "read_only" in said
    return number in _MYSQL_READ_ONLY or _sqlstate(error) == _READ_ONLY


def is_lost(error: BaseException) -> bool:
    """Tell whether a connection that was there broke."""
    if (number := _number(error)) is not None:
        return number in _MYSQL_CUT_OFF
    if (sqlstate := _sqlstate(error)) is not None:
        return sqlstate.startswith(_CUT_OFF)
    return isinstance(error, db_exception.DBConnectionError)


def is_full(error: BaseException) -> bool:
    """Tell whether no more connections are taken.

    PostgreSQL tells no code to those whom it does not let in.
    """
    return _number(error) in _MYSQL_FULL or any(w in str(_raised(error)) for w in _FULL_WORDS)


def is_unreachable(error: BaseException, *, begun: bool) -> bool:
    """Tell whether a database is down, away, unknown or closed to us.

    :param begun: whether its server has begun a transaction; psycopg has no code for its failures
        to connect, and has none for what it refuses itself to send
    """
    if isinstance(error, db_exception.DBNonExistentDatabase | sa.exc.TimeoutError):
        return True
    if is_lost(error) or _number(error) in _MYSQL_CLOSED_TO_US:
        return True
    if (sqlstate := _sqlstate(error)) is not None:
        return sqlstate.startswith(_CLOSED_TO_US)
    is_psycopg = _number(error) is None and not _sqlite_name(error)
    return is_psycopg and not begun and isinstance(error, sa.exc.OperationalError)


def is_unfinished(error: BaseException) -> bool:
    """Tell whether a statement was cancelled, or there was no room for it: it may do later."""
    sqlstate = _sqlstate(error) or ""
    return (
        _number(error) in _MYSQL_UNFINISHED
        or sqlstate.startswith(_UNFINISHED)
        or _sqlite_name(error).startswith(_SQLITE_UNFINISHED)
    )


def reason(error: BaseException) -> str:
    """Return what the driver said: what SQLAlchemy wraps around it has values of users."""
    return str(_raised(error)).partition("\n[SQL: ")[0].strip()


def _raised(error: BaseException) -> BaseException:
    """Return the driver's own error, which SQLAlchemy wraps, and oslo.db around that."""
    inner = getattr(error, "inner_exception", None) or error
    return getattr(inner, "orig", None) or inner


def _sqlstate(error: BaseException) -> str | None:
    """Return PostgreSQL's code, by either driver's name for it."""
    raised = _raised(error)
    return getattr(raised, "sqlstate", None) or getattr(raised, "pgcode", None)


def _number(error: BaseException) -> int | None:
    """Return the number of an error of MariaDB or MySQL."""
    first = next(iter(_raised(error).args), None)
    return first if isinstance(first, int) else None


def _sqlite_name(error: BaseException) -> str:
    """Return the name of an error of SQLite; "": it is not one."""
    return getattr(_raised(error), "sqlite_errorname", None) or ""


_MEANINGS: Final[Sequence[tuple[Callable[[Exception, bool], bool], type[Unavailable], str]]] = (
    (
        lambda error, _: is_deadlock(error),
        Deadlock,
        "another transaction was in the way in {}; this one was ended",
    ),
    (lambda error, _: is_read_only(error), ReadOnly, "{} takes no writes now: {}"),
    (lambda error, begun: begun and is_lost(error), Lost, "the connection to {} broke: {}"),
    (
        lambda error, begun: not begun and is_full(error),
        Full,
        "{} takes no more connections: {}",
    ),
    (
        lambda error, begun: is_unreachable(error, begun=begun),
        Unavailable,
        "the database {} cannot be reached: {}",
    ),
    (lambda error, _: is_unfinished(error), Unfinished, "{} did not do it: {}"),
)
