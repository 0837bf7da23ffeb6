"""Engines and transactions: the one place that knows how a database is reached.

>>> @retried                                    # a step that may be repeated
... def start(self, uuid):
...     with self.database.begin() as session:  # one step is one transaction
...         instances.get(session, uuid)
"""

import contextlib
import datetime
import functools
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, ParamSpec, TypeVar

import sqlalchemy as sa

from roost import exception
from roost.db import clock, errors
from roost.db.drivers import Timeouts, make_engine
from roost.exception import Deadlock, Full, Lost, ReadOnly, Unavailable

P = ParamSpec("P")
R = TypeVar("R")
Session = sa.Connection  # in a transaction: all that the functions of db/ are given

CONNECT_SECONDS: Final = 10
ANSWER_SECONDS: Final = 60
_RENEWED: Final = "renewed"


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
        self._patience = Timeouts(connect_timeout, answer_timeout)
        self._clock = clock.Reckoned()
        self._closed = False
        self._renewed = 0  # how often; each connection knows of which time it is

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

    def begin(self) -> contextlib.AbstractContextManager[Session]:
        """Run a transaction: committed at the end of the block, rolled back if it raises.

        :raises roost.exception.Unavailable: when the database cannot be reached
        :raises roost.exception.Lost: when the connection broke on the way; it may be committed
        :raises roost.exception.Deadlock: when the database gave another transaction the way
        :raises roost.exception.Full: when the database takes no more connections now
        :raises roost.exception.ReadOnly: when its server takes no writes; nothing was done
        :raises roost.exception.Unfinished: when it had no time or no room for it; nothing was done
        """
        return self._transaction(self.engine)

    def read(self) -> contextlib.AbstractContextManager[Session]:
        """Run a transaction that only reads; on SQLite it does not wait for the writer."""
        return self._transaction(self.engine.execution_options(reads=True))

    def write(self, step: Callable[[Session], R]) -> R:
        """Do a step in a transaction of its own, again if it may not have happened."""

        def transact() -> R:
            with self.begin() as session:
                return step(session)

        return retried(transact)()

    def now(self) -> datetime.datetime:
        """Return the time by the database's clock, which is only asked where it was not lately.

        Within a transaction and outside of one.

        :raises roost.exception.Unavailable: when the database was not reached yet, and cannot be
        """
        if self._clock.is_unknown:
            with self.read():
                pass  # as each transaction does, it reads the clock
        return self._clock.now()

    @contextlib.contextmanager
    def _transaction(self, engine: sa.Engine) -> Iterator[Session]:
        begun = False
        try:
            with engine.begin() as session:
                begun = True
                if self._clock.is_due:
                    self._clock.read(session)
                yield session
        except errors.RAISED as error:
            known = errors.meaning(error, name=str(self), begun=begun)
            if known is None:
                raise
            raise known from error

    def close(self) -> None:
        """Close all connections; those in use are closed as soon as they are not any more."""
        self._closed = True
        self._dispose()

    def renew(self) -> None:
        """Let all that begins from now on connect anew; connections in use are closed after it."""
        self._renewed += 1
        self._dispose()

    def _dispose(self) -> None:
        if "engine" in self.__dict__:
            self.engine.dispose()

    def __str__(self) -> str:
        return sa.make_url(self.url).render_as_string(hide_password=True)


def retried(step: Callable[P, R]) -> Callable[P, R]:
    """Run a step again whose transaction may not have happened: see :class:`Retries`.

    For every step that writes; all must bear to be repeated, even after they were committed.
    """
    return _again(step, after=(Deadlock, Full, Lost))


def retried_if_undone(step: Callable[P, R]) -> Callable[P, R]:
    """Run a step again whose transaction has not happened, for sure.

    For steps that do not bear to be repeated: what is made twice is there, what is deleted twice is
    not.
    """
    return _again(step, after=(Deadlock, Full, ReadOnly))


def _again(step: Callable[P, R], *, after: tuple[type[Unavailable], ...]) -> Callable[P, R]:
    @functools.wraps(step)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
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

    def __init__(self, error: Unavailable) -> None:
        self._begun = time.monotonic()
        self._was_there = False
        self._tries = 0
        self.note(error)

    def note(self, error: Unavailable) -> None:
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
