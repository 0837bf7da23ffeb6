"""Compares the usage of hosts with the sums of their claims, and corrects it."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost.db.engine import Session
from roost.db.scheduler import hosts as host_rows
from roost.db.scheduler import models
from roost.db.scheduler.ranges import in_parts
from roost.objects.allocations import Allocations, plus

_HOSTS: Final = models.hosts


@dataclasses.dataclass
class _Count:
    """The usage of a node as it is stored, and as its claims are."""

    id: int
    host: str
    node: str
    instances: int
    used: Allocations
    claims: int = 0
    claimed: Allocations = dataclasses.field(default_factory=dict)

    @property
    def is_right(self) -> bool:
        return (self.instances, self.used) == (self.claims, self.claimed)


def list_miscounted(session: Session, *, limit: int = 1000) -> list[dict[str, Any]]:
    """Return the first nodes whose usage differs from the sums of their claims.

    One statement sees one snapshot of the database, so changes under way are not found. Each has
    host and node and, by resource, ``used`` and ``claimed``.
    """
    ids = session.scalars(sa.select(_HOSTS.c.id).order_by(_HOSTS.c.host, _HOSTS.c.node)).all()
    found: list[dict[str, Any]] = []
    for some in in_parts(ids):
        found += [_as_dict(each) for each in _counted(session, some) if not each.is_right]
        if len(found) >= limit:
            break
    return found[:limit]


def recount(session: Session, host: str) -> list[int]:
    """Set the usage of all nodes of a host to the sums of claims; return the ids of wrong ones.

    Transactions that change claims lock their host first: so the sums hold until the commit.
    """
    ids = host_rows.ids_of(session, host, lock=True)
    wrong = [each for each in _counted(session, ids) if not each.is_right]
    for each in wrong:
        right = {"instances_used": each.claims, "used": each.claimed}
        touched = host_rows.touched(described=False)
        session.execute(sa.update(_HOSTS).where(_HOSTS.c.id == each.id).values(**right, **touched))
    return [each.id for each in wrong]


def _counted(session: Session, host_ids: Sequence[int]) -> list[_Count]:
    """Return the counts of nodes, in order of host and node."""
    claims = models.claims
    node = (_HOSTS.c.host, _HOSTS.c.node)
    statement = (
        sa.select(_HOSTS.c.id, *node, _HOSTS.c.instances_used, _HOSTS.c.used, claims.c.allocations)
        .select_from(_HOSTS.outerjoin(claims))
        .where(_HOSTS.c.id.in_(host_ids))
        .order_by(*node)
    )
    counts: dict[int, _Count] = {}
    for *stored, allocations in session.execute(statement):
        count = counts.setdefault(stored[0], _Count(*stored))
        if allocations is not None:
            count.claims += 1
            count.claimed = plus(count.claimed, allocations)
    return list(counts.values())


def _as_dict(count: _Count) -> dict[str, Any]:
    return {
        "host": count.host,
        "node": count.node,
        "used": dict(_named(count.used), instances=count.instances),
        "claimed": dict(_named(count.claimed), instances=count.claims),
    }


def _named(allocations: Allocations) -> Iterator[tuple[str, int]]:
    """Yield each amount with its class, behind the name of its provider if that has one."""
    for provider, amounts in allocations.items():
        for resource_class, amount in amounts.items():
            yield f"{provider} {resource_class}".strip(), amount
