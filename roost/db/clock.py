"""The database's own clock, read from the database or extrapolated from an earlier read.

All daemons that share a database use its clock: those of their machines may differ by minutes.
"""

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from roost.clock import boot_clock
from roost.db.types import database_now

if TYPE_CHECKING:
    from roost.db.engine import Session

_NOW: Final = sa.select(database_now())
_HOLDS: Final = 60.0  # seconds until a clock is read again: local drift is negligible until then


def now(session: "Session") -> datetime.datetime:
    """Return the time by the clock of the database."""
    found: datetime.datetime = session.execute(_NOW).scalar_one()
    return found


class Reckoned:
    """The clock of a database, extrapolated from its last read by a local clock.

    Thread-safe. It is behind the clock by the time that the read takes: milliseconds.

    :param own: seconds on a clock that never goes back
    """

    def __init__(self, own: Callable[[], float] = boot_clock) -> None:
        self._own = own
        self._read: tuple[datetime.datetime, float] | None = None
        self._asked = 0.0

    @property
    def is_unknown(self) -> bool:
        return self._read is None

    @property
    def is_due(self) -> bool:
        """Whether it is unknown, or its last read is too old."""
        return self._read is None or self._own() - self._read[1] > _HOLDS

    def read(self, session: "Session") -> None:
        """Read the clock of the database."""
        asked = self._own()
        self._read, self._asked = (now(session), self._own()), asked

    def now(self) -> datetime.datetime:
        """Return the time by the clock of the database; it must have been read."""
        assert self._read is not None, "the clock of this database was not read yet"
        then, at = self._read
        return then + datetime.timedelta(seconds=self._own() - at)

    def latest(self) -> datetime.datetime:
        """Return what the clock of the database does not exceed now, likewise."""
        assert self._read is not None, "the clock of this database was not read yet"
        return self._read[0] + datetime.timedelta(seconds=self._own() - self._asked)
