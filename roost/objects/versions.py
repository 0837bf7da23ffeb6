"""Versions that follow from times: of two words on one thing, the one said later counts."""

import datetime
from typing import Final

from roost import exception

# As far as clocks may differ. What is said to be later stays the last word for ever.
_CLOCKS_DIFFER: Final = datetime.timedelta(hours=1)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def version_at(time: datetime.datetime) -> int:
    """Return the microseconds from the epoch to a time."""
    return (time - _EPOCH) // datetime.timedelta(microseconds=1)


def check_is_past(version: int, now: datetime.datetime) -> None:
    """Refuse a version that follows from a time which nobody can have had yet.

    :raises roost.exception.Invalid: when it is more than an hour ahead of ``now``
    """
    if version > version_at(now + _CLOCKS_DIFFER):
        raise exception.Invalid(
            f"the version {version} is of the future: here it is {version_at(now)}; compare clocks"
        )
