"""Maps errors of drivers to exceptions: a database is unavailable, or did not run a statement.

PostgreSQL's errors are classified by SQLSTATE, those of MariaDB and MySQL by number, those of
SQLite by name. Only an error of the connection itself counts as unavailable, and before a
transaction has begun every error is one: our user may be unknown, locked or without a password that
counts. A database that refuses or cancels a statement, or lacks resources for it, is available.

Used by :mod:`roost.db.engine` and :mod:`roost.db.drivers` only.
"""

from collections.abc import Callable, Sequence
from typing import Final

import sqlalchemy as sa
from oslo_db import exception as db_exception

from roost.exception import Deadlock, Full, Lost, ReadOnly, Unavailable, Unfinished

# Exceptions of drivers and pools that may be errors of the connection.
RAISED: Final = (db_exception.DBError, sa.exc.DBAPIError, sa.exc.TimeoutError)

_CONFLICTS: Final = {"40001", "40P01"}  # could not serialize; deadlock
_CUT_OFF: Final = ("08", "57P", "25P03")  # connection; shut down; idle for too long
_CLOSED_TO_US: Final = ("28", "3D000", "53300")  # password; no such database; connections
_READ_ONLY: Final = "25006"
_UNFINISHED: Final = ("53", "57014", "58", "42501")  # resources; cancelled; files; privileges

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
    *(1142, 1143, 1227, 1370),  # privileges for a table, a column, an operation, a routine
}

_SQLITE_BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED")
_SQLITE_UNFINISHED: Final = ("SQLITE_FULL", "SQLITE_INTERRUPT", "SQLITE_NOMEM", "SQLITE_IOERR")
_FULL_TEXTS: Final = ("too many clients", "too many connections", "remaining connection slots")
_DEADLOCKED: Final = (db_exception.DBDeadlock, db_exception.DBConsistencyError)


def meaning(error: Exception, *, name: str, begun: bool) -> Unavailable | None:
    """Return the exception for an error; None: the caller of the transaction caused it.

    :param name: of the database, for the message
    :param begun: whether its server has begun a transaction
    """
    for is_meant, kind, message in _MEANINGS:
        if is_meant(error, begun):
            return kind(message.format(name, reason(error)))
    return None


def is_deadlock(error: BaseException | None) -> bool:
    """Return whether a transaction was rolled back in favour of another.

    On MariaDB a deadlock also ends the savepoints, so their rollback fails as well.
    """
    while error is not None:
        if isinstance(error, _DEADLOCKED) or _sqlstate(error) in _CONFLICTS:
            return True
        if _sqlite_name(error).startswith(_SQLITE_BUSY):
            return True
        error = getattr(error, "cause", None) or error.__cause__ or error.__context__
    return False


def is_read_only(error: BaseException) -> bool:
    """Return whether a server accepts no writes: it is a standby, and another is the primary."""
    number = _number(error)
    if number == _MYSQL_OPTION:
        said = str(_raised(error)).lower()
        return "read-only" in said or "read_only" in said
    return number in _MYSQL_READ_ONLY or _sqlstate(error) == _READ_ONLY


def is_lost(error: BaseException) -> bool:
    """Return whether an established connection broke."""
    if (number := _number(error)) is not None:
        return number in _MYSQL_CUT_OFF
    if (sqlstate := _sqlstate(error)) is not None:
        return sqlstate.startswith(_CUT_OFF)
    return isinstance(error, db_exception.DBConnectionError)


def is_full(error: BaseException) -> bool:
    """Return whether the server accepts no more connections.

    PostgreSQL sends no code to clients that it does not accept.
    """
    return _number(error) in _MYSQL_FULL or any(w in str(_raised(error)) for w in _FULL_TEXTS)


def is_unreachable(error: BaseException) -> bool:
    """Return whether a database is down, unreachable, unknown or refuses us."""
    if isinstance(error, db_exception.DBNonExistentDatabase | sa.exc.TimeoutError):
        return True
    if is_lost(error) or _number(error) in _MYSQL_CLOSED_TO_US:
        return True
    return (_sqlstate(error) or "").startswith(_CLOSED_TO_US)


def is_unfinished(error: BaseException) -> bool:
    """Return whether a statement was cancelled, or lacked resources or our user the privilege.

    It may succeed later.
    """
    sqlstate = _sqlstate(error) or ""
    return (
        _number(error) in _MYSQL_UNFINISHED
        or sqlstate.startswith(_UNFINISHED)
        or _sqlite_name(error).startswith(_SQLITE_UNFINISHED)
    )


def reason(error: BaseException) -> str:
    """Return the driver's own message in a line, without users' values that SQLAlchemy appends."""
    return " ".join(str(_raised(error)).partition("\n[SQL: ")[0].split())


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


_CANNOT_BE_REACHED: Final = "the database {} cannot be reached: {}"
_MEANINGS: Final[Sequence[tuple[Callable[[Exception, bool], bool], type[Unavailable], str]]] = (
    (
        lambda error, _: is_deadlock(error),
        Deadlock,
        "a conflict with another transaction in {}: this one was rolled back",
    ),
    (lambda error, _: is_read_only(error), ReadOnly, "{} accepts no writes now: {}"),
    (lambda error, begun: begun and is_lost(error), Lost, "the connection to {} broke: {}"),
    (
        lambda error, begun: not begun and is_full(error),
        Full,
        "{} accepts no more connections: {}",
    ),
    (lambda error, _: is_unreachable(error), Unavailable, _CANNOT_BE_REACHED),
    (lambda error, _: is_unfinished(error), Unfinished, "{} did not finish it: {}"),
    (lambda _, begun: not begun, Unavailable, _CANNOT_BE_REACHED),
)
