"""Splits lists into chunks for statements, and selects the range of uuids of a snapshot."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from roost import exception
from roost.objects import SnapshotRange

T = TypeVar("T")
_AT_ONCE: Final = 1000  # databases have limits
_LONGEST_PAGE: Final = 2**31 - 1


def in_parts(values: Iterable[T]) -> Iterator[list[T]]:
    """Yield chunks of as many values as one statement takes."""
    listed = list(values)
    return (listed[start : start + _AT_ONCE] for start in range(0, len(listed), _AT_ONCE))


def check_limit(limit: int) -> None:
    """Make sure that a page may have so many rows.

    :raises roost.exception.Invalid: when it may not
    """
    if type(limit) is not int or not 1 <= limit <= _LONGEST_PAGE:
        raise exception.Invalid(f"limit must be a number from 1 to {_LONGEST_PAGE}, not {limit!r}.")


def covered(uuid: sa.ColumnElement[Any], snapshot: SnapshotRange) -> list[sa.ColumnElement[bool]]:
    """Return the conditions that a uuid is in the range."""
    conditions: list[sa.ColumnElement[bool]] = []
    if snapshot.after is not None:
        conditions.append(uuid > snapshot.after)
    if snapshot.until is not None:
        conditions.append(uuid <= snapshot.until)
    return conditions
