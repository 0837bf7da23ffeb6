"""Times that queries ask for: one without a fraction means all of its second.

Answers tell times in whole seconds, and rows have microseconds: so what was told can be asked for.
"""

import datetime
from typing import Final, NamedTuple

from roost import exception
from roost.api.call import Call
from roost.api.validation import timestamp

BEFORE_SINCE: Final = 66  # since 2.66 lists can be asked for changes before a time
_END_OF_SECOND: Final = 999_999  # microseconds


class Span(NamedTuple):
    """The first moment that is meant, and the last."""

    first: datetime.datetime
    last: datetime.datetime


class Changes(NamedTuple):
    """The first moment of the changes that are asked for, and the last; None: without end."""

    since: datetime.datetime | None
    before: datetime.datetime | None

    @property
    def are_asked(self) -> bool:
        return self.since is not None or self.before is not None

    def have(self, moment: datetime.datetime) -> bool:
        return (self.since is None or self.since <= moment) and (
            self.before is None or moment <= self.before
        )


def span(said: str) -> Span:
    """Read a time.

    :raises ValueError: when it is none
    """
    first = timestamp(said)
    exact = "." in said or "," in said
    return Span(first, first if exact else first.replace(microsecond=_END_OF_SECOND))


def changes(call: Call, *, since: int = 1) -> Changes:
    """Return what the query says by ``changes-since`` and ``changes-before``.

    :param since: the minor microversion that knows the first; both mean nothing before theirs
    :raises roost.exception.Invalid: when the second comes before the first
    """
    begin, end = _span(call, "changes-since", since), _span(call, "changes-before", BEFORE_SINCE)
    if begin and end and begin.first > end.last:
        raise exception.Invalid(
            "The value of changes-since must be less than or equal to changes-before."
        )
    return Changes(begin and begin.first, end and end.last)


def _span(call: Call, name: str, since: int) -> Span | None:
    said = call.query.one(name) if call.version >= since else None
    return None if said is None else span(said)
