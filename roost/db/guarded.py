"""A database behind a circuit breaker: it gets no transactions while it is unavailable."""

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

    The breaker counts a failure when the database cannot be reached or the connection breaks.
    It does not count deadlocks, a read-only server or a lack of resources for a statement, nor any
    other errors within the block.
    """

    def __init__(self, database: Database, breaker: CircuitBreaker) -> None:
        super().__init__(database.url)
        self._database = database
        self._breaker = breaker
        self._clock = database._clock  # noqa: SLF001 - of one database there is one clock

    @functools.cached_property
    def engine(self) -> sa.Engine:
        """The engine itself, for migrations: it bypasses the breaker."""
        return self._database.engine

    def begin(self) -> contextlib.AbstractContextManager[Session]:
        """Run a transaction: see :meth:`roost.db.engine.Database.begin`.

        :raises roost.exception.Away: at once while the breaker is open; nothing was done
        """
        return self._guarded(reads=False)

    def read(self) -> contextlib.AbstractContextManager[Session]:
        """Run a transaction that only reads.

        :raises roost.exception.Away: at once while the breaker is open
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
                if error is not inside:  # else it is an error of another database, or a bus
                    call.blame(error)
                raise

    def probe(self) -> None:
        """Probe the database.

        :raises roost.exception.Unavailable: when it does not answer; this opens the breaker
        """
        with self.read() as session:
            session.execute(_ANYTHING)

    def close(self) -> None:
        self._database.close()


def ask(database: Database) -> None:
    """Probe a database by a new connection, since idle ones may be dead.

    :raises roost.exception.Unavailable: when it does not answer
    """
    database.renew()
    with database.read() as session:
        session.execute(_ANYTHING)
