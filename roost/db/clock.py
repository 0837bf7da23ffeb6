"""The database's own clock, read; and told without asking each time.

All who share a database go by its clock: those of their machines may differ by minutes.
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
_HOLDS: Final = 60.0  # seconds until a clock is read again: no machine's own drifts so far by then


def now(session: "Session") -> datetime.datetime:
    """Return the time by the clock of the database, which all who share it go by."""
    found: datetime.datetime = session.execute(_NOW).scalar_one()
    return found


class Reckoned:
    """The clock of a database as it was last read, and as time has gone on here since.

    Any thread may ask. It is right to the milliseconds that reading it takes.

    :param own: seconds that never go back
    """

    def __init__(self, own: Callable[[], float] = boot_clock) -> None:
        self._own = own
        self._read: tuple[datetime.datetime, float] | None = None

    @property
    def is_unknown(self) -> bool:
        return self._read is None

    @property
    def is_due(self) -> bool:
        """Whether it was never read, or too long ago."""
        return self._read is None or self._own() - self._read[1] > _HOLDS

    def read(self, session: "Session") -> None:
        """Read the clock of the database anew."""
        self._read = now(session), self._own()

    def now(self) -> datetime.datetime:
        """Return the time by the clock of the database; it must have been read."""
        assert self._read is not None, "nobody has read the clock of this database yet"
        then, at = self._read
        return then + datetime.timedelta(seconds=self._own() - at)
