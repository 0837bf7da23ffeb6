"""Statements built once for each set of columns: SQLAlchemy builds one as long as it runs it.

What the columns are compared with, ``where``, is column -> the value that it has, or a collection
of such values.
"""

import functools
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from roost.db.engine import Session

FEW: Final = 12  # values that have a statement of their own, by their number
MANY: Final = -1


class AcceptedValues(NamedTuple):
    """What a column is compared with: so many values, or any number (``MANY``), and NULL.

    SQLAlchemy renders a list of any number of values anew each time.
    """

    values: int
    or_null: bool


def update(
    session: Session,
    table: sa.Table,
    where: Mapping[str, Any],
    values: Mapping[str, Any],
    *conditions: sa.ColumnElement[bool],
) -> int:
    """Update the rows with these values; return how many there were.

    SQL expressions among ``values`` and ``conditions`` must be constants of their modules: the
    statement is kept by their identity.

    :param values: column -> new value, or SQL expression; assigned in this order
    :param conditions: further ones
    """
    kinds, parameters = _accepted(where)
    given = tuple(
        (name, value if isinstance(value, sa.ClauseElement) else None)
        for name, value in values.items()
    )
    parameters |= {f"new_{name}": values[name] for name, given_as in given if given_as is None}
    done = session.execute(_update(table, kinds, given, conditions), parameters)
    return int(done.rowcount)


def delete(session: Session, table: sa.Table, where: Mapping[str, Any]) -> int:
    """Delete the rows; return how many there were."""
    kinds, parameters = _accepted(where)
    return int(session.execute(_delete(table, kinds), parameters).rowcount)


def select(
    session: Session, *columns: sa.Column[Any], where: Mapping[str, Any], lock: bool = False
) -> sa.CursorResult[Any]:
    """Return these columns of the rows of their table.

    :param lock: lock the rows until the transaction ends
    """
    kinds, parameters = _accepted(where)
    return session.execute(_select(columns, kinds, lock), parameters)


_Kinds = tuple[tuple[str, AcceptedValues], ...]


def _accepted(where: Mapping[str, Any]) -> tuple[_Kinds, dict[str, Any]]:
    """Return how many values each column may have, and the parameters with these values."""
    kinds: list[tuple[str, AcceptedValues]] = []
    parameters: dict[str, Any] = {}
    for name, value in where.items():
        some = _several(value)
        known = [one for one in some if one is not None]
        if len(known) > FEW:
            kinds.append((name, AcceptedValues(MANY, None in some)))
            parameters[f"is_{name}"] = known
        else:
            kinds.append((name, AcceptedValues(len(known), None in some)))
            parameters |= {f"is_{name}_{number}": one for number, one in enumerate(known)}
    return tuple(kinds), parameters


@functools.lru_cache(maxsize=1000)
def _delete(table: sa.Table, where: _Kinds) -> sa.Delete:
    return sa.delete(table).where(*[_condition(table.c[name], kind) for name, kind in where])


@functools.lru_cache(maxsize=1000)
def _select(columns: tuple[sa.Column[Any], ...], where: _Kinds, lock: bool) -> sa.Select[Any]:
    table = columns[0].table
    query = sa.select(*columns).where(*[_condition(table.c[name], kind) for name, kind in where])
    return query.with_for_update() if lock else query


@functools.lru_cache(maxsize=1000)
def _update(
    table: sa.Table,
    where: _Kinds,
    values: tuple[tuple[str, sa.ClauseElement | None], ...],
    conditions: tuple[sa.ColumnElement[bool], ...],
) -> sa.Update:
    new = [
        (table.c[name], sa.bindparam(f"new_{name}") if given is None else given)
        for name, given in values
    ]
    equal = [_condition(table.c[name], kind) for name, kind in where]
    return sa.update(table).where(*equal, *conditions).ordered_values(*new)


def _several(value: Any) -> Collection[Any]:
    return [value] if isinstance(value, str) or not isinstance(value, Collection) else value


def _condition(column: sa.Column[Any], kind: AcceptedValues) -> sa.ColumnElement[bool]:
    name = f"is_{column.name}"
    accepted: list[sa.ColumnElement[bool]] = [sa.false()]
    if kind.values == MANY:
        accepted.append(column.in_(sa.bindparam(name, expanding=True)))
    else:
        accepted += [column == sa.bindparam(f"{name}_{number}") for number in range(kind.values)]
    if kind.or_null:
        accepted.append(column.is_(None))
    return sa.or_(*accepted)
