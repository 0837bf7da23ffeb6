"""Compares the usage of hosts with the sums of their claims, and corrects it."""

from typing import Any, Final

import sqlalchemy as sa

from roost.db.engine import Session
from roost.db.scheduler import hosts as host_rows
from roost.db.scheduler import models
from roost.db.scheduler.hosts import RESOURCES

_HOSTS: Final = models.hosts
_USED: Final = [_HOSTS.c[f"{name}_used"] for name in RESOURCES]


def list_miscounted(session: Session, *, limit: int = 1000) -> list[dict[str, Any]]:
    """Return the first nodes whose usage differs from the sums of their claims.

    One statement sees one snapshot of the database, so changes under way are not found. Each has
    host and node and, by resource, ``used`` and ``claimed``.
    """
    rows = session.execute(_compared().where(_differs()).order_by(*_NODE).limit(limit))
    return [_as_dict(row) for row in rows]


def recount(session: Session, host: str) -> list[int]:
    """Set the usage of all nodes of a host to the sums of claims; return the ids of wrong ones.

    Transactions that change claims lock their host first: so the sums hold until the commit.
    """
    host_rows.ids_of(session, host, lock=True)
    wrong = session.execute(_compared().where(_HOSTS.c.host == host, _differs())).all()
    for row in wrong:
        counted = {
            column.name: getattr(row, f"{name}_claimed")
            for name, column in zip(RESOURCES, _USED, strict=True)
        }
        touched = host_rows.touched(described=False)
        session.execute(sa.update(_HOSTS).where(_HOSTS.c.id == row.id).values(**counted, **touched))
    return [row.id for row in wrong]


def _sums() -> sa.Subquery:
    claims = models.claims.c
    sums = [sa.func.sum(claims[name]).label(name) for name in RESOURCES[:-1]]
    return (
        sa.select(claims.host_id, *sums, sa.func.count().label("instances"))
        .group_by(claims.host_id)
        .subquery()
    )


_SUMS: Final = _sums()
_CLAIMED: Final = [sa.func.coalesce(_SUMS.c[name], 0) for name in RESOURCES]
_NODE: Final = (_HOSTS.c.host, _HOSTS.c.node)


def _compared() -> sa.Select[Any]:
    claimed = [
        column.label(f"{name}_claimed") for name, column in zip(RESOURCES, _CLAIMED, strict=True)
    ]
    joined = _HOSTS.outerjoin(_SUMS, _SUMS.c.host_id == _HOSTS.c.id)
    return sa.select(_HOSTS.c.id, *_NODE, *_USED, *claimed).select_from(joined)


def _differs() -> sa.ColumnElement[bool]:
    return sa.or_(*[used != claimed for used, claimed in zip(_USED, _CLAIMED, strict=True)])


def _as_dict(row: sa.Row[Any]) -> dict[str, Any]:
    return {
        "host": row.host,
        "node": row.node,
        "used": {name: int(getattr(row, f"{name}_used")) for name in RESOURCES},
        "claimed": {name: int(getattr(row, f"{name}_claimed")) for name in RESOURCES},
    }
