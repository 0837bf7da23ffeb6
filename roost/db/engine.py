"""Databases and transactions: connects to a database by URL, with retries.

>>> found = database.query(instances.get, uuid)       # one statement, or a function of db/
>>> database.write(instances.mark_deleted, uuid)      # the same, and it may be repeated
>>> @retried                                          # a step of several; it may be repeated
... def start(self, uuid):
...     with self.database.begin() as session:        # one step is one transaction
...         instances.get(session, uuid)
"""

import contextlib
import datetime
import functools
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

import sqlalchemy as sa

from roost import exception, plugins
from roost.db import clock, errors
from roost.db.drivers import Timeouts, make_engine
from roost.exception import Deadlock, Full, Lost, ReadOnly, Unavailable

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Callable[..., Any])
Session = sa.Connection  # in a transaction: all that the functions of db/ are given

CONNECT_SECONDS: Final = 10
ANSWER_SECONDS: Final = 60
_RENEWED: Final = "renewed"


class Database:
    """One database, given by URL. Connects on first use, so it may be created before a fork.

    Options in the URL (``?connect_timeout=3``) override the parameters.

    :param connections: the size of the pool; as many threads may be in a transaction at once
    :param connect_timeout: seconds in which a server must accept a connection
    :param answer_timeout: seconds in which it must answer each statement; None: no timeout. For
        MariaDB and MySQL it is rounded up to whole seconds.
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
        self._patience = Timeouts(connect_timeout, answer_timeout)
        self._clock = clock.Reckoned()
        self._closed = False
        self._renewed = 0  # number of renewals; each connection has the number at its creation

    @functools.cached_property
    def engine(self) -> sa.Engine:
        url = sa.make_url(self.url)
        engine = make_engine(url, connections=self._connections, patience=self._patience)

        @sa.event.listens_for(engine, "connect")
        def _on_connect(_connection: Any, record: Any) -> None:
            record.info[_RENEWED] = self._renewed

        @sa.event.listens_for(engine, "checkin")
        def _on_checkin(_connection: Any, record: Any) -> None:
            if self._closed or record.info.get(_RENEWED) != self._renewed:
                record.close()

        return engine

    @functools.cached_property
    def _reading(self) -> sa.Engine:
        """The engine, for transactions that only read."""
        return self.engine.execution_options(reads=True)

    def check_url(self) -> None:
        """Make sure that the URL names a kind of database, and a driver that is installed.

        :raises roost.exception.Invalid: when it does not
        """
        try:
            sa.make_url(self.url).get_dialect().import_dbapi()
        except sa.exc.NoSuchModuleError as error:
            raise exception.Invalid(f"{self}: no such kind of database, or driver") from error
        except sa.exc.ArgumentError as error:
            raise exception.Invalid("no URL of a database") from error
        except ImportError as error:
            raise exception.Invalid(
                f"{self}: {plugins.lacking(error)}; mysql+pymysql, postgresql+psycopg are"
            ) from error

    def begin(self) -> contextlib.AbstractContextManager[Session]:
        """Run a transaction: committed at the end of the block, rolled back if it raises.

        :raises roost.exception.Unavailable: when the database cannot be reached
        :raises roost.exception.Lost: when the connection broke meanwhile; it may be committed
        :raises roost.exception.Deadlock: when it lost against another transaction
        :raises roost.exception.Full: when the database accepts no more connections now
        :raises roost.exception.ReadOnly: when its server accepts no writes; nothing was done
        :raises roost.exception.Unfinished: when it timed out or lacked resources; nothing was done
        """
        return self._transaction(self.engine)

    def read(self) -> contextlib.AbstractContextManager[Session]:
        """Run a transaction that only reads; on SQLite it does not wait for the writer."""
        return self._transaction(self._reading)

    def query(
        self, step: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run a step that only reads, in a transaction of its own (:meth:`read`)."""
        with self.read() as session:
            return step(session, *args, **kwargs)

    def write(
        self, step: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run a step in a transaction of its own, with the retries of :func:`retried`."""

        @retried
        def transact() -> R:
            with self.begin() as session:
                return step(session, *args, **kwargs)

        return transact()

    def now(self) -> datetime.datetime:
        """Return the time by the database's clock, extrapolated from its last read.

        Within a transaction and outside of one.

        :raises roost.exception.Unavailable: when it was never read, and cannot be reached now
        """
        if self._clock.is_unknown:
            with self.read():
                pass  # each transaction reads the clock when it is due
        return self._clock.now()

    def latest_now(self) -> datetime.datetime:
        """Return a time that the database's clock does not exceed now, after a transaction."""
        return self._clock.latest()

    @contextlib.contextmanager
    def _transaction(self, engine: sa.Engine) -> Iterator[Session]:
        begun = False
        try:
            with engine.connect() as session:
                begun = True
                with session.begin():
                    if self._clock.is_due:
                        self._clock.read(session)
                    yield session
        except errors.RAISED as error:
            known = errors.meaning(error, name=str(self), begun=begun)
            if known is None:
                raise
            raise known from error

    def close(self) -> None:
        """Close all connections; those in use are closed when they are returned."""
        self._closed = True
        self._dispose()

    def renew(self) -> None:
        """Make new transactions connect anew; connections in use are closed when returned."""
        self._renewed += 1
        self._dispose()

    def _dispose(self) -> None:
        if "engine" in self.__dict__:
            self.engine.dispose()

    def __str__(self) -> str:
        return sa.make_url(self.url).render_as_string(hide_password=True)


def retried(step: S) -> S:
    """Retry a step whose transaction may not have been committed: see :class:`Retries`.

    For every step that writes; it must be idempotent, even after a commit.
    """
    return _again(step, after=(Deadlock, Full, Lost))


def retried_if_undone(step: S) -> S:
    """Retry a step whose transaction was certainly not committed.

    For steps that are not idempotent: a second creation would find the first, a second deletion
    would find nothing.
    """
    return _again(step, after=(Deadlock, Full, ReadOnly))


def _again(step: S, *, after: tuple[type[Unavailable], ...]) -> S:
    @functools.wraps(step)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return step(*args, **kwargs)
        except after as error:
            retries = Retries(error)
        while True:
            retries.wait()
            try:
                return step(*args, **kwargs)
            except Unavailable as error:
                if isinstance(error, Lost) and not isinstance(error, after):
                    raise
                retries.note(error)

    return cast("S", run)


class Retries:
    """Retries of a step: for some seconds, at first nearly at once.

    The victim of a deadlock succeeds once the others have committed, a step without connection once
    one is free. A server that broke a connection may be restarting, so the step waits for it. If
    the first try cannot reach it, the step fails at once, and after ``HICCUP`` if its breaker is
    open.

    :param error: why the first try failed
    """

    SECONDS = 8.0
    HICCUP = 1.0  # for an open breaker: its first probes are over by then

    def __init__(self, error: Unavailable) -> None:
        self._begun = time.monotonic()
        self._was_there = False
        self._tries = 0
        self.note(error)

    def note(self, error: Unavailable) -> None:
        """Record a failed try.

        :raises roost.exception.Unavailable: this error, when there is to be no further try
        """
        self._tries += 1
        self._was_there = self._was_there or isinstance(error, Full | Lost)
        patience = self.HICCUP if isinstance(error, exception.Away) else self.SECONDS
        hopeful = self._was_there or isinstance(error, Deadlock)
        if not hopeful or time.monotonic() - self._begun >= patience:
            raise error

    def wait(self) -> None:
        """Sleep until the next try: longer each time, with jitter."""
        longest = min(0.005 * 2**self._tries, 1.0)
        time.sleep(longest * random.uniform(0.5, 1))  # noqa: S311 - no secret is made of it
