"""Whether the scheduler's books are right, read past all of its code."""

import collections
import json

import sqlalchemy as sa

from roost.db.scheduler import models


def assert_right(database):
    """What each host has in use is the sum of its claims, and no more than it has."""
    statement = (  # one, as a scheduler may be at work
        "SELECT hosts.id, instances_used, used, inventories, allocations"
        " FROM hosts LEFT JOIN claims ON claims.host_id = hosts.id"
    )
    with database.read() as session:
        rows = session.execute(sa.text(statement)).all()
    assert rows
    hosts = {}
    for *host, allocations in rows:
        hosts.setdefault(tuple(host), []).extend([json.loads(allocations)] if allocations else [])
    for (_, instances, used, inventories), claims in hosts.items():
        claimed, counted = collections.Counter(), json.loads(used)
        for allocations in claims:
            claimed.update(_flat(allocations))
        assert (instances, _flat(counted)) == (len(claims), dict(claimed))
        for name, _parent, _uuid, _traits, classes in json.loads(inventories):
            for each, (total, *_) in classes.items():
                assert counted.get(name, {}).get(each, 0) <= total


def _flat(allocations):
    return {
        (provider, name): amount
        for provider, amounts in allocations.items()
        for name, amount in amounts.items()
    }


def most_of_a_group_on_a_host(database):
    """Return how many claims of one group are on one host, at most."""
    claims = models.claims.c
    with database.read() as session:
        pairs = session.execute(
            sa.select(claims.group_uuid, claims.host_id).where(claims.group_uuid.is_not(None))
        )
        return max(collections.Counter(map(tuple, pairs)).values(), default=0)
