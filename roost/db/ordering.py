"""Orders of pages that are the same on every database, and in Python.

Lists of several databases are merged, so all must have the same order: text is compared by code
points whatever a database's collation, and NULL comes before everything else.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from roost.db.engine import Session

_BY_CODE_POINTS = {"postgresql": "C", "mysql": "utf8mb4_bin", "mariadb": "utf8mb4_bin"}


@dataclasses.dataclass(frozen=True)
class Sort:
    """One key of an order: the name of a column or attribute, and its direction."""

    name: str
    descending: bool = False


@dataclasses.dataclass(frozen=True)
class Key:
    """A sort key as a column of a query; ``nullable``: some rows have no value."""

    column: sa.ColumnElement[Any]
    descending: bool
    nullable: bool

    def order_by(self) -> list[sa.ColumnElement[Any]]:
        keys = [self.column.is_not(None), self.column] if self.nullable else [self.column]
        return [key.desc() if self.descending else key.asc() for key in keys]

    def beyond(self, value: Any) -> sa.ColumnElement[bool]:
        """Return the condition that a row comes after one with ``value``."""
        if value is None:
            return sa.false() if self.descending else self.column.is_not(None)
        bound = sa.literal(value, self.column.type)  # SQLAlchemy compares no bare boolean
        if self.descending:
            further: sa.ColumnElement[bool] = self.column < bound
            return sa.or_(further, self.column.is_(None)) if self.nullable else further
        later: sa.ColumnElement[bool] = self.column > bound
        return later

    def same(self, value: Any) -> sa.ColumnElement[bool]:
        return self.column.is_(None) if value is None else self.column == value


def binary(session: Session, column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return a text column with comparison by code points, any other column as it is."""
    collation = _BY_CODE_POINTS.get(session.dialect.name)
    if collation is None or not isinstance(column.type, sa.String):
        return column
    return sa.collate(column, collation)


def after(keys: Sequence[Key], values: Sequence[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a row comes after the one with ``values`` of ``keys``."""
    ways = []
    for index, key in enumerate(keys):
        equal = [k.same(v) for k, v in zip(keys[:index], values[:index], strict=True)]
        ways.append(sa.and_(*equal, key.beyond(values[index])))
    return sa.or_(*ways)


class Ranked:
    """A key for Python's sort with the same order, created by :func:`rank`."""

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[tuple[Any, bool]]) -> None:
        self._values = values

    def __lt__(self, other: "Ranked") -> bool:
        for (mine, descending), (theirs, _) in zip(self._values, other._values, strict=True):
            if mine == theirs:
                continue
            less = mine is None or (theirs is not None and mine < theirs)
            return less is not descending
        return False


def rank(values: Sequence[Any], order: Sequence[Sort]) -> Ranked:
    """Return a value that sorts as a row with these values does in the database."""
    directions = [sort.descending for sort in order]
    return Ranked(list(zip(values, directions, strict=True)))
