"""Pages of a cell's instances: filtered, in order, after a marker."""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost.db import ordering, wire
from roost.db.cell import instance_index, models
from roost.db.cell.instances import row_to_instance
from roost.db.engine import Session
from roost.db.instance_query import ListedInstance, NamedInstance, Wanted

_instances = models.instances
_FEW: Final = 1000  # rows that the first statement reads
_MANY: Final = 32_000  # rows that any statement reads, at most
_NOT_SHOWN: Final = ("keypair", "networks", "numa_topology", "pci", "allocations")


def list_page(
    session: Session, wanted: Wanted, *, after: Sequence[Any] | None = None, limit: int
) -> list[ListedInstance]:
    """Return the first ``limit`` wanted instances, in order.

    They have what lists show. That is one statement, unless there are patterns that SQL cannot
    decide: then it reads the rows that :func:`_look` found.

    :param after: the values of the order's columns of the last instance of the page before
    """
    keys = _keys(session, wanted)
    columns = _columns(wanted)
    query = sa.select(*columns)
    if wanted.is_exact:
        query = query.where(*_conditions(wanted), *_after(keys, after)).limit(limit)
    else:
        fitting = itertools.islice(_look(session, wanted, after), limit)
        query = query.where(_instances.c.uuid.in_([*fitting]))
    rows = session.execute(query.order_by(*_order(keys)))
    load: Callable[[sa.Row[Any]], Any] = _row_to_name
    if not wanted.names_only:
        names = [column.name for column in columns]
        load = functools.partial(row_to_instance, columns=names)
    return [
        ListedInstance(row.uuid, _values(row, wanted), functools.partial(load, row)) for row in rows
    ]


def _row_to_name(row: sa.Row[Any]) -> NamedInstance:
    return NamedInstance(row.uuid, row.display_name, row.vm_state)


def _look(session: Session, wanted: Wanted, after: Sequence[Any] | None) -> Iterator[str]:
    """Yield the uuids of all wanted instances, in order, with patterns checked here.

    Each statement reads only the columns needed for the check, of twice as many rows as the one
    before: so few statements check many rows.
    """
    keys, conditions, size = _keys(session, wanted), _conditions(wanted), _FEW
    query = sa.select(*_judged(wanted)).order_by(*_order(keys))
    while True:
        rows = session.execute(query.where(*conditions, *_after(keys, after)).limit(size)).all()
        yield from (row.uuid for row in rows if _fits(row, wanted))
        if len(rows) < size:
            return
        after, size = _values(rows[-1], wanted), min(2 * size, _MANY)


def _judged(wanted: Wanted) -> list[sa.ColumnElement[Any]]:
    """Return the columns needed to check a row, and to continue after it."""
    names = {"uuid", *wanted.like, *(sort.name for sort in wanted.order)}
    names |= {"network_info"} if wanted.addresses else set()
    return [column for column in _instances.c if column.name in names]


def _fits(row: sa.Row[Any], wanted: Wanted) -> bool:
    values = row._mapping  # noqa: SLF001 - a public name
    return all(pattern.fits(values[name]) for name, pattern in wanted.like.items()) and (
        not wanted.addresses or instance_index.fit(wire.load(values["network_info"]), wanted)
    )


def _keys(session: Session, wanted: Wanted) -> list[ordering.Key]:
    return [
        ordering.Key(
            ordering.binary(session, _instances.c[sort.name]),
            sort.descending,
            bool(_instances.c[sort.name].nullable),
        )
        for sort in wanted.order
    ]


def _order(keys: Sequence[ordering.Key]) -> list[sa.ColumnElement[Any]]:
    return [clause for key in keys for clause in key.order_by()]


def _after(
    keys: Sequence[ordering.Key], after: Sequence[Any] | None
) -> list[sa.ColumnElement[bool]]:
    return [] if after is None else [ordering.after(keys, after)]


def _columns(wanted: Wanted) -> list[sa.Column[Any]]:
    if wanted.names_only:
        names = {*NamedInstance._fields, *(sort.name for sort in wanted.order)}
        return [column for column in _instances.c if column.name in names]
    unread = _NOT_SHOWN if wanted.with_user_data else (*_NOT_SHOWN, "user_data")
    return [column for column in _instances.c if column.name not in unread]


def _values(row: sa.Row[Any], wanted: Wanted) -> list[Any]:
    return [row._mapping[sort.name] for sort in wanted.order]  # noqa: SLF001 - a public name


def _conditions(wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    conditions = [_any_of(name, values) for name, values in wanted.equal.items()]
    conditions += [
        _instances.c[name].ilike(pattern.like, escape="\\") for name, pattern in wanted.like.items()
    ]
    conditions += _changed(wanted)
    conditions += instance_index.tag_conditions(wanted)
    conditions += instance_index.address_conditions(wanted)
    conditions += [_instances.c[name].between(*span) for name, span in wanted.between.items()]
    if wanted.states is not None:
        conditions.append(_in_states(wanted.states))
    if wanted.deleted is not None:
        buried = _instances.c.deleted_at
        conditions.append(buried.is_not(None) if wanted.deleted else buried.is_(None))
    if wanted.put_away is not None:
        away = _instances.c.soft_deleted_at
        conditions.append(away.is_not(None) if wanted.put_away else away.is_(None))
    return conditions


def _any_of(name: str, values: Sequence[Any]) -> sa.ColumnElement[bool]:
    column = _instances.c[name]
    return column == values[0] if len(values) == 1 else column.in_(values)


def _changed(wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    """Compare the last change, or else the creation, in a form that can use indexes."""
    c = _instances.c
    conditions: list[sa.ColumnElement[bool]] = []
    if (since := wanted.changed_since) is not None:
        never = sa.and_(c.updated_at.is_(None), c.created_at >= since)
        conditions.append(sa.or_(c.updated_at >= since, never))
    if (before := wanted.changed_before) is not None:
        never = sa.and_(c.updated_at.is_(None), c.created_at <= before)
        conditions.append(sa.or_(c.updated_at <= before, never))
    return conditions


def _in_states(states: Sequence[tuple[str, str | None]]) -> sa.ColumnElement[bool]:
    c = _instances.c
    return sa.or_(
        sa.false(),
        *[
            sa.and_(c.vm_state == vm, c.task_state.is_not_distinct_from(task))
            for vm, task in states
        ],
    )
