"""Engines and transactions: the one place that knows how a database is reached.

>>> @retried                                    # a step that may be repeated
... def start(self, uuid):
...     with self.database.begin() as session:  # one step is one transaction
...         instances.get(session, uuid)
"""

import contextlib
import functools
import random
import time
from collections.abc import Callable, Iterator
from typing import Final, ParamSpec, TypeVar

import sqlalchemy as sa
from oslo_db import exception as db_exception

from roost import exception
from roost.db.drivers import Patience, make_engine
from roost.exception import Deadlock, Full, Lost

P = ParamSpec("P")
R = TypeVar("R")
Session = sa.Connection  # in a transaction: all that the functions of db/ are given

CONNECT_SECONDS: Final = 10
ANSWER_SECONDS: Final = 60

# What a database that is down, away, unknown or closed to us answers with, driver by driver.
UNREACHABLE = (
    db_exception.DBConnectionError,
    db_exception.DBNonExistentDatabase,
    sa.exc.OperationalError,
    sa.exc.TimeoutError,
)
_CONFLICTS: Final = {"40001", "40P01"}  # could not serialize; deadlock
_CUT_OFF: Final = {"57P01", "57P02", "57P03", "25P03"}  # shut down; idle for too long
_FULL: Final = {1040, 1203, 1226}  # MariaDB: too many connections, of all or of this user
_FULL_WORDS: Final = ("too many clients", "too many connections", "remaining connection slots")
_DEADLOCKED: Final = (db_exception.DBDeadlock, db_exception.DBConsistencyError)


class Database:
    """One database, reached by URL. Connects on first use, so it may be made before a fork.

    What the URL says of its own accord (``?connect_timeout=3``) counts.

    :param connections: the size of the pool; as many threads may be in a transaction at once
    :param connect_timeout: seconds in which a server must take a connection
    :param answer_timeout: seconds in which it must answer each statement; None: it may take its
        time. Whole seconds count with MariaDB and MySQL.
    """

    def __init__(
        self,
        url: str,
        *,
        connections: int = 64,
        connect_timeout: float = CONNECT_SECONDS,
        answer_timeout: float | None = ANSWER_SECONDS,
    ) -> None:
        self.url = url
        self._connections = connections
        self._patience = Patience(connect_timeout, answer_timeout)

    @functools.cached_property
    def engine(self) -> sa.Engine:
        url = sa.make_url(self.url)
        return make_engine(url, connections=self._connections, patience=self._patience)

    def begin(self) -> contextlib.AbstractContextManager[Session]:
        """Run a transaction: committed at the end of the block, rolled back if it raises.

        :raises roost.exception.Unavailable: when the database cannot be reached
        :raises roost.exception.Lost: when the connection broke on the way; it may be committed
        :raises roost.exception.Deadlock: when the database gave another transaction the way
        :raises roost.exception.Full: when the database takes no more connections now
        """
        return self._transaction(self.engine)

    def read(self) -> contextlib.AbstractContextManager[Session]:
        """Run a transaction that only reads; on SQLite it does not wait for the writer."""
        return self._transaction(self.engine.execution_options(reads=True))

    @contextlib.contextmanager
    def _transaction(self, engine: sa.Engine) -> Iterator[Session]:
        begun = False
        try:
            with engine.begin() as session:
                begun = True
                yield session
        except (*UNREACHABLE, db_exception.DBError) as error:
            known = self._known(error, begun=begun)
            if known is None:
                raise
            raise known from error

    def _known(self, error: Exception, *, begun: bool) -> exception.Unavailable | None:
        """Return what an error of the database means to those who ask for a transaction."""
        if _is_deadlock(error):
            return Deadlock(f"another transaction was in the way in {self}; this one was ended")
        if begun and _is_lost(error):
            return Lost(f"the connection to {self} broke: {_reason(error)}")
        if not begun and _is_full(error):
            return Full(f"{self} takes no more connections: {_reason(error)}")
        return unreachable(self, error) if isinstance(error, UNREACHABLE) else None

    def close(self) -> None:
        if "engine" in self.__dict__:
            self.engine.dispose()

    def __str__(self) -> str:
        return sa.make_url(self.url).render_as_string(hide_password=True)


def unreachable(database: Database, error: Exception) -> exception.Unavailable:
    """Tell what the driver said: what SQLAlchemy wraps around it has values of users."""
    return exception.Unavailable(f"the database {database} cannot be reached: {_reason(error)}")


def retried(step: Callable[P, R]) -> Callable[P, R]:
    """Run a step again whose transaction may not have happened: see :class:`Retries`.

    For every step that writes; all must bear to be repeated, even after they were committed.
    """

    @functools.wraps(step)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return step(*args, **kwargs)
        except (Deadlock, Full, Lost) as error:
            retries = Retries(error)
        while True:
            retries.wait()
            try:
                return step(*args, **kwargs)
            except exception.Unavailable as error:
                retries.note(error)

    return run


class Retries:
    """How long a step is tried again: for some seconds, at first nearly at once.

    The victim of a deadlock goes on when others are through, and who found no connection free when
    one is. A server that broke a connection may be restarting, so it is waited for. One that could
    not be reached from the first is away: that is told at once, and soon what others know to be
    away.

    :param error: why the first try failed
    """

    SECONDS = 8.0
    HICCUP = 1.0  # for what others know to be away: their first looks are over by then

    def __init__(self, error: exception.Unavailable) -> None:
        self._begun = time.monotonic()
        self._was_there = False
        self._tries = 0
        self.note(error)

    def note(self, error: exception.Unavailable) -> None:
        """Take note of a failed try.

        :raises roost.exception.Unavailable: this very error, when it is not to be tried again
        """
        self._tries += 1
        self._was_there = self._was_there or isinstance(error, Full | Lost)
        patience = self.HICCUP if isinstance(error, exception.Away) else self.SECONDS
        hopeful = self._was_there or isinstance(error, Deadlock)
        if not hopeful or time.monotonic() - self._begun >= patience:
            raise error

    def wait(self) -> None:
        """Sleep until the next try: longer each time, and never as long as others."""
        longest = min(0.005 * 2**self._tries, 1.0)
        time.sleep(longest * random.uniform(0.5, 1))  # noqa: S311 - no secret is made of it


def _reason(error: Exception) -> str:
    inner = getattr(error, "inner_exception", None) or error
    return str(getattr(inner, "orig", None) or inner).partition("\n[SQL: ")[0].strip()


def _is_deadlock(error: BaseException | None) -> bool:
    """On MariaDB a deadlock also ends the savepoints, and their rollback fails on top of it."""
    while error is not None:
        if isinstance(error, _DEADLOCKED) or _sqlstate(error) in _CONFLICTS:
            return True
        error = getattr(error, "cause", None) or error.__cause__ or error.__context__
    return False


def _is_lost(error: Exception) -> bool:
    return isinstance(error, db_exception.DBConnectionError) or _sqlstate(error) in _CUT_OFF


def _is_full(error: Exception) -> bool:
    """PostgreSQL tells no code to those whom it does not let in."""
    orig = getattr(getattr(error, "inner_exception", None) or error, "orig", None)
    code = next(iter(getattr(orig, "args", ())), None)
    return code in _FULL or any(words in str(orig) for words in _FULL_WORDS)


def _sqlstate(error: BaseException) -> str | None:
    """Return PostgreSQL's code, by either driver's name for it."""
    inner = getattr(error, "inner_exception", None) or error
    orig = getattr(inner, "orig", None)
    return getattr(orig, "sqlstate", None) or getattr(orig, "pgcode", None)
