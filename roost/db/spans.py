"""Selects the rows that an audit reads: those of a range of uuids, or of named ones."""

import dataclasses
from collections.abc import Collection, Iterator

import sqlalchemy as sa


@dataclasses.dataclass(frozen=True)
class UuidRange:
    """All uuids from ``first`` up to, but not including, ``before``; "": unbounded."""

    first: str = ""
    before: str = ""

    def has(self, uuid: str) -> bool:
        return self.first <= uuid and (not self.before or uuid < self.before)


Which = UuidRange | Collection[str]


def spans(count: int, *, size: int) -> Iterator[UuidRange]:
    """Divide all uuids into ranges, so that each has about ``size`` of ``count`` random ones."""
    digits = 0
    while 16**digits * size < count:
        digits += 1
    starts = [f"{number:0{digits}x}" for number in range(1, 16**digits)] if digits else []
    for first, before in zip(["", *starts], [*starts, ""], strict=True):
        yield UuidRange(first, before)


def within(column: sa.ColumnElement[str], which: Which) -> sa.ColumnElement[bool]:
    """Return the condition that a uuid is one of these."""
    if not isinstance(which, UuidRange):
        return column.in_(which)
    bounds = [column >= which.first] if which.first else []
    if which.before:
        bounds.append(column < which.before)
    return sa.and_(sa.true(), *bounds)
