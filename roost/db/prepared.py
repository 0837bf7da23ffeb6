"""Updates and inserts built once for each set of columns; SQLAlchemy builds as long as it runs."""

import functools
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from roost.db.engine import Session


class AcceptedValues(NamedTuple):
    """What a column is compared with: so many values, and NULL.

    SQLAlchemy would render a list of values anew each time.
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

    :param where: column -> the value that it has, or a collection of such values
    :param values: column -> new value, or SQL expression; assigned in this order
    :param conditions: further ones
    """
    accepted = {name: _several(value) for name, value in where.items()}
    kinds = tuple(
        (name, AcceptedValues(sum(one is not None for one in some), None in some))
        for name, some in accepted.items()
    )
    given = tuple(
        (name, value if isinstance(value, sa.ClauseElement) else None)
        for name, value in values.items()
    )
    parameters = {f"new_{name}": values[name] for name, given_as in given if given_as is None}
    for name, some in accepted.items():
        known = (one for one in some if one is not None)
        parameters |= {f"is_{name}_{number}": one for number, one in enumerate(known)}
    done = session.execute(_update(table, kinds, given, conditions), parameters)
    return int(done.rowcount)


@functools.lru_cache(maxsize=1000)
def _update(
    table: sa.Table,
    where: tuple[tuple[str, AcceptedValues], ...],
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
    equal = [column == sa.bindparam(f"is_{column.name}_{number}") for number in range(kind.values)]
    return sa.or_(sa.false(), *equal, *([column.is_(None)] if kind.or_null else []))
