"""Versions that follow from times: of two words on one thing, the one said later counts."""

import datetime

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def version_at(time: datetime.datetime) -> int:
    """Return the microseconds from the epoch to a time."""
    return (time - _EPOCH) // datetime.timedelta(microseconds=1)
