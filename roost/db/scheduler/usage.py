"""Updates the usage of many hosts in one statement, the most frequent write of the scheduler.

One statement per host would cost several times as much, and so would building it each time.
"""

import functools
from collections.abc import Mapping

from roost.db.engine import Session
from roost.db.scheduler.hosts import RESOURCES, Amounts


def change(session: Session, changes: Mapping[int, Amounts]) -> None:
    """Add to the usage of hosts, and raise the generation of each by one.

    The hosts must be locked.
    """
    if not changes:
        return
    rows = [(host_id, *amounts) for host_id, amounts in changes.items()]
    dialect = session.dialect.name
    if dialect == "postgresql":
        columns = [list(column) for column in zip(*rows, strict=True)]
        session.exec_driver_sql(_on_postgresql(), tuple(columns))
    elif dialect in ("mysql", "mariadb"):
        session.exec_driver_sql(_on_mariadb(len(rows)), tuple(one for row in rows for one in row))
    else:
        session.exec_driver_sql(_on_sqlite(), [(*row[1:], row[0]) for row in rows])


@functools.cache
def _on_postgresql() -> str:
    names = ", ".join(RESOURCES)
    sums = ", ".join(f"{name}_used = hosts.{name}_used + more.{name}" for name in RESOURCES)
    arrays = ", ".join(["%s::bigint[]"] * (len(RESOURCES) + 1))
    return (  # of our own names only
        f"UPDATE hosts SET {sums}, generation = hosts.generation + 1,"
        " touched_at = timezone('utc', clock_timestamp())"
        f" FROM unnest({arrays}) AS more(id, {names}) WHERE hosts.id = more.id"
    )


@functools.cache
def _on_mariadb(count: int) -> str:
    sums = ", ".join(f"{name}_used = {name}_used + more.{name}_more" for name in RESOURCES)
    first = ", ".join(["%s AS id_more", *(f"%s AS {name}_more" for name in RESOURCES)])
    other = " UNION ALL SELECT " + ", ".join(["%s"] * (len(RESOURCES) + 1))
    return (  # of our own names only
        f"UPDATE hosts JOIN (SELECT {first}{other * (count - 1)}) AS more"
        f" ON hosts.id = more.id_more SET {sums}, generation = generation + 1,"
        " touched_at = utc_timestamp(6)"
    )


@functools.cache
def _on_sqlite() -> str:
    sums = ", ".join(f"{name}_used = {name}_used + ?" for name in RESOURCES)
    return (  # of our own names only
        f"UPDATE hosts SET {sums}, generation = generation + 1,"
        " touched_at = strftime('%Y-%m-%d %H:%M:%f000', 'now') WHERE id = ?"
    )
