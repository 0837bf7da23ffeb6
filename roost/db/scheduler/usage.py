"""Updates the usage of many hosts in one statement, the most frequent write of the scheduler.

One statement per host would cost several times as much, and so would building it each time.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from roost.db.engine import Session
from roost.db.scheduler.claims import Claim
from roost.db.scheduler.hosts import Usage
from roost.db.types import as_json
from roost.objects.allocations import plus


def changed(
    usages: Mapping[int, Usage], *, gained: Iterable[Claim], lost: Iterable[Claim]
) -> list[Usage]:
    """Return the usage of hosts with some claims more and others less, in order of host id.

    The generation of each is one higher. Hosts whose claims do not change are left out.
    """
    found: dict[int, Usage] = {}
    for claims, sign in ((gained, 1), (lost, -1)):
        for claim in claims:
            before = usages[claim.host_id]
            now = found.get(claim.host_id) or before._replace(generation=before.generation + 1)
            used = plus(now.used, claim.allocations, sign=sign)
            found[claim.host_id] = now._replace(instances=now.instances + sign, used=used)
    return [found[host_id] for host_id in sorted(found)]


def write(session: Session, usages: Sequence[Usage]) -> None:
    """Write the usage of hosts, which must be locked since it was read."""
    if not usages:
        return
    rows = [(each.id, each.generation, each.instances, as_json(each.used)) for each in usages]
    dialect = session.dialect.name
    if dialect == "postgresql":
        columns = [list(column) for column in zip(*rows, strict=True)]
        session.exec_driver_sql(_ON_POSTGRESQL, tuple(columns))
    elif dialect in ("mysql", "mariadb"):
        session.exec_driver_sql(_on_mariadb(len(rows)), tuple(one for row in rows for one in row))
    else:
        session.exec_driver_sql(_ON_SQLITE, [(*row[1:], row[0]) for row in rows])


_ON_POSTGRESQL: Final = (
    "UPDATE hosts SET generation = new.generation, instances_used = new.instances,"
    " used = new.used, touched_at = timezone('utc', clock_timestamp())"
    " FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::text[])"
    " AS new(id, generation, instances, used) WHERE hosts.id = new.id"
)
_ON_SQLITE: Final = (
    "UPDATE hosts SET generation = ?, instances_used = ?, used = ?,"
    " touched_at = strftime('%Y-%m-%d %H:%M:%f000', 'now') WHERE id = ?"
)


@functools.cache
def _on_mariadb(count: int) -> str:
    first = "%s AS new_id, %s AS new_generation, %s AS new_instances, %s AS new_used"
    other = " UNION ALL SELECT %s, %s, %s, %s"
    return (
        f"UPDATE hosts JOIN (SELECT {first}{other * (count - 1)}) AS new ON hosts.id = new.new_id"
        " SET generation = new_generation, instances_used = new_instances, used = new_used,"
        " touched_at = utc_timestamp(6)"
    )
