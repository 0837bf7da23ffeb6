"""Updates and inserts built once for each set of columns; SQLAlchemy builds as long as it runs."""

import functools
from collections.abc import Collection, Mapping
from typing import Any, Literal

import sqlalchemy as sa

from roost.db.engine import Session

Kind = Literal["null", "one", "any", "any or null"]


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
    kinds = tuple((name, _kind(value)) for name, value in where.items())
    given = tuple(
        (name, value if isinstance(value, sa.ClauseElement) else None)
        for name, value in values.items()
    )
    parameters = {f"new_{name}": values[name] for name, given_as in given if given_as is None}
    for name, kind in kinds:
        if kind == "any or null":
            parameters[f"is_{name}"] = [one for one in where[name] if one is not None]
        elif kind != "null":
            parameters[f"is_{name}"] = where[name] if kind == "one" else [*where[name]]
    done = session.execute(_update(table, kinds, given, conditions), parameters)
    return int(done.rowcount)


@functools.lru_cache(maxsize=1000)
def _update(
    table: sa.Table,
    where: tuple[tuple[str, Kind], ...],
    values: tuple[tuple[str, sa.ClauseElement | None], ...],
    conditions: tuple[sa.ColumnElement[bool], ...],
) -> sa.Update:
    new = [
        (table.c[name], sa.bindparam(f"new_{name}") if given is None else given)
        for name, given in values
    ]
    equal = [_condition(table.c[name], kind) for name, kind in where]
    return sa.update(table).where(*equal, *conditions).ordered_values(*new)


def _kind(value: Any) -> Kind:
    if value is None:
        return "null"
    if isinstance(value, str) or not isinstance(value, Collection):
        return "one"
    return "any or null" if None in value else "any"


def _condition(column: sa.Column[Any], kind: Kind) -> sa.ColumnElement[bool]:
    if kind == "null":
        return column.is_(None)
    if kind == "one":
        return column == sa.bindparam(f"is_{column.name}")
    some = column.in_(sa.bindparam(f"is_{column.name}", expanding=True))
    return some if kind == "any" else sa.or_(some, column.is_(None))
