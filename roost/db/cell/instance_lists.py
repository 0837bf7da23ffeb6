"""Pages of a cell's instances: filtered, in order, after a marker."""

import functools
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from roost.db import ordering
from roost.db.cell import addresses, models, tags
from roost.db.cell.instances import row_to_instance
from roost.db.engine import Session
from roost.db.instance_query import Found, Wanted

_instances = models.instances


def list_page(
    session: Session, wanted: Wanted, *, after: Sequence[Any] | None = None, limit: int
) -> list[Found]:
    """Return the first ``limit`` wanted instances, in order, in one statement.

    :param after: the values of the order's columns of the last instance of the page before
    """
    keys = [
        ordering.Key(
            ordering.binary(session, _instances.c[sort.name]),
            sort.descending,
            bool(_instances.c[sort.name].nullable),
        )
        for sort in wanted.order
    ]
    query = sa.select(*_columns(wanted)).where(*_conditions(wanted))
    if after is not None:
        query = query.where(ordering.after(keys, after))
    order_by = [clause for key in keys for clause in key.order_by()]
    rows = session.execute(query.order_by(*order_by).limit(limit))
    return [_found(row, wanted) for row in rows]


def _columns(wanted: Wanted) -> list[sa.ColumnElement[Any]]:
    if wanted.with_user_data:
        return [*_instances.c]
    unread = sa.null().label(_instances.c.user_data.name)
    return [unread if column is _instances.c.user_data else column for column in _instances.c]


def _found(row: sa.Row[Any], wanted: Wanted) -> Found:
    values = [row._mapping[sort.name] for sort in wanted.order]  # noqa: SLF001 - a public name
    return Found(row.uuid, values, functools.partial(row_to_instance, row))


def _conditions(wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    conditions = [_any_of(name, values) for name, values in wanted.equal.items()]
    conditions += [
        _instances.c[name].ilike(pattern, escape="\\") for name, pattern in wanted.like.items()
    ]
    conditions += _changed(wanted)
    conditions += tags.conditions(wanted)
    conditions += addresses.conditions(wanted)
    for name, (first, end) in wanted.between.items():
        conditions += [_instances.c[name] >= first, _instances.c[name] < end]
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
    """Compare the last change; what never changed was created. Said so that indexes serve."""
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
