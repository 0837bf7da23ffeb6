"""A database behind a circuit breaker: not asked while it is unavailable."""

import contextlib
import functools
from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from roost import exception
from roost.circuit_breaker import CircuitBreaker
from roost.db.engine import Database, Session

_ANYTHING: Final = sa.select(1)
_IT_IS_THERE: Final = (exception.Deadlock, exception.ReadOnly, exception.Unfinished)


class GuardedDatabase(Database):
    """A database whose transactions pass a breaker first.

    The breaker is told when the database cannot be reached, or its connection breaks: not when a
    transaction loses to another, the server takes no writes or has no room for one, which others
    may do without; nor of what else fails within its block.
    """

    def __init__(self, database: Database, breaker: CircuitBreaker) -> None:
        super().__init__(database.url)
        self._database = database
        self._breaker = breaker
        self._clock = database._clock  # noqa: SLF001 - of one database there is one clock

    @functools.cached_property
    def engine(self) -> sa.Engine:
        """What migrations stand on; nobody guards it."""
        return self._database.engine

    def begin(self) -> contextlib.AbstractContextManager[Session]:
        """Run a transaction: see :meth:`roost.db.engine.Database.begin`.

        :raises roost.exception.Away: at once, and nothing was done
        """
        return self._guarded(reads=False)

    def read(self) -> contextlib.AbstractContextManager[Session]:
        """Run a transaction that only reads.

        :raises roost.exception.Away: at once
        """
        return self._guarded(reads=True)

    @contextlib.contextmanager
    def _guarded(self, *, reads: bool) -> Iterator[Session]:
        inside: BaseException | None = None
        with self._breaker.passing() as call:
            try:
                with self._database.read() if reads else self._database.begin() as session:
                    try:
                        yield session
                    except BaseException as error:
                        inside = error
                        raise
            except _IT_IS_THERE:
                raise
            except exception.Unavailable as error:
                if error is not inside:  # else another database's, or a bus's
                    call.blame(error)
                raise

    def knock(self) -> None:
        """Ask whether the database is there.

        :raises roost.exception.Unavailable: when it does not answer; from now on it is away
        """
        with self.read() as session:
            session.execute(_ANYTHING)

    def close(self) -> None:
        self._database.close()


def ask(database: Database) -> None:
    """Connect anew and hear whether there is an answer; connections at rest may be dead.

    :raises roost.exception.Unavailable: when there is none
    """
    database.renew()
    with database.read() as session:
        session.execute(_ANYTHING)
