"""Whether the scheduler's books are right, read past all of its code."""

import collections

import sqlalchemy as sa

from roost.db.scheduler import models

SIZES = ("vcpus", "pcpus", "memory_mb", "disk_gb")


def assert_right(database):
    """What each host has in use is the sum of its claims, and no more than it has."""
    hosts, claims = models.hosts.c, models.claims.c
    sums = [sa.func.coalesce(sa.func.sum(claims[name]), 0) for name in SIZES]
    sums.append(sa.func.count(claims.instance_uuid))
    used = [hosts[f"{name}_used"] for name in (*SIZES, "instances")]
    statement = (
        sa.select(*used, *sums, *(hosts[name] for name in SIZES))
        .select_from(models.hosts.outerjoin(models.claims))
        .group_by(hosts.id)
    )
    with database.read() as session:
        rows = [[int(value) for value in row] for row in session.execute(statement)]
    assert rows
    for row in rows:
        used, claimed, capacity = row[:5], row[5:10], row[10:]
        assert used == claimed
        assert all(u <= c for u, c in zip(used, capacity, strict=False))


def most_of_a_group_on_a_host(database):
    """Return how many claims of one group are on one host, at most."""
    claims = models.claims.c
    with database.read() as session:
        pairs = session.execute(
            sa.select(claims.group_uuid, claims.host_id).where(claims.group_uuid.is_not(None))
        )
        return max(collections.Counter(map(tuple, pairs)).values(), default=0)
