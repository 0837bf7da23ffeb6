"""The hosts that the scheduler knows: their reported resources, and their usage by claims."""

import dataclasses
import datetime
import functools
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from roost import exception
from roost.db.engine import Session
from roost.db.scheduler import models
from roost.db.scheduler.ranges import in_parts
from roost.db.types import database_now
from roost.objects.allocations import Allocations

# Longer than a transaction should take: one that began earlier may commit later.
LOOK_BACK: Final = datetime.timedelta(seconds=15)
_HOSTS = models.hosts
# One object each, by which statements are kept that are built once.
_NEXT = _HOSTS.c.generation + 1
_NEXT_DESCRIBED = _HOSTS.c.described + 1
_USED = (_HOSTS.c.instances_used, _HOSTS.c.used)


class Usage(NamedTuple):
    """Values of a host that change often; ``reported_at`` in seconds since the epoch.

    ``instances`` is the number of its claims, ``used`` their sum.
    """

    id: int
    generation: int
    described: int
    reported_at: float
    instances: int
    used: Allocations


@dataclasses.dataclass(frozen=True, slots=True)
class HostRow:
    """The values of one host that decisions need.

    ``profile``, ``inventories``, ``topology`` and ``metrics`` are JSON, which many hosts have in
    common.
    """

    id: int
    generation: int
    described: int
    host: str
    node: str
    cell_uuid: str
    availability_zone: str
    enabled: bool
    told_down: bool
    reported_at: float
    instances: int
    used: Allocations
    io_operations: int = 0
    failed_builds: int = 0
    host_ip: str | None = None
    profile: str = "{}"
    inventories: str = "[]"
    topology: str | None = None
    metrics: str | None = None


def set_enabled(session: Session, host: str, *, enabled: bool, version: int) -> list[int]:
    """Enable or disable all nodes of a host for new instances; return their ids.

    A message with a lower version than an earlier one is dropped.
    """
    session.execute(
        sa.update(_HOSTS)
        .where(_HOSTS.c.host == host, _HOSTS.c.enabled_version <= version)
        .values(enabled=enabled, enabled_version=version, **touched(described=True))
    )
    return list(session.scalars(sa.select(_HOSTS.c.id).where(_HOSTS.c.host == host)))


def remove(session: Session, host: str) -> list[int]:
    """Delete all nodes of a host; return their ids.

    :raises roost.exception.Conflict: while one holds claims
    """
    ids: list[int] = ids_of(session, host, lock=True)
    held = models.claims.c.host_id.in_(ids)
    count = session.scalar(sa.select(sa.func.count()).select_from(models.claims).where(held))
    if count:
        raise exception.Conflict(
            f"The host {host} holds {count} claims: end or release what is there first."
        )
    _note_removed(session, ids)
    session.execute(sa.delete(_HOSTS).where(_HOSTS.c.id.in_(ids)))
    return ids


def _note_removed(session: Session, ids: Sequence[int]) -> None:
    """Keep for a while that hosts were removed, for those who ask for changes."""
    noted = models.removed_hosts
    session.execute(sa.delete(noted).where(noted.c.id.in_(ids)))  # SQLite gives ids out again
    names = ("id", "host", "node", "node_uuid", "cell_uuid", "described")
    values = [_HOSTS.c[name] for name in names]
    rows = sa.select(*values, _HOSTS.c.generation + 1, database_now()).where(_HOSTS.c.id.in_(ids))
    session.execute(sa.insert(noted).from_select([*names, "generation", "removed_at"], rows))


def find_id(session: Session, host: str, node: str) -> int | None:
    """Return the id of a node, or None when it never reported."""
    statement = sa.select(_HOSTS.c.id).where(_HOSTS.c.host == host, _HOSTS.c.node == node)
    return session.scalar(statement)


def ids_of(session: Session, host: str, *, lock: bool = False) -> list[int]:
    """Return the ids of a host's nodes, in order."""
    statement = sa.select(_HOSTS.c.id).where(_HOSTS.c.host == host).order_by(_HOSTS.c.id)
    return list(session.scalars(statement.with_for_update() if lock else statement))


def touched(*, described: bool) -> dict[str, Any]:
    """Return the values that mark a host as changed; ``described``: not only its usage."""
    values: dict[str, Any] = {"generation": _NEXT, "touched_at": database_now()}
    if described:
        values["described"] = _NEXT_DESCRIBED
    return values


def touched_since(session: Session, since: datetime.datetime | None) -> list[Usage]:
    """Return the hosts changed since (by the database's clock); None: all."""
    statement = _usages(since is not None)
    return [_usage(row) for row in session.execute(statement, {"since": since} if since else {})]


def usages(session: Session, ids: Iterable[int], *, lock: bool = False) -> list[Usage]:
    """Return the usage of these hosts, in order of id; ``lock``: lock the hosts."""
    found: list[Usage] = []
    for some in in_parts(sorted(ids)):
        found += map(_usage, session.execute(_usages_of(lock), {"ids": some}))
    return found


def lock(session: Session, ids: Iterable[int]) -> None:
    """Lock hosts until the transaction ends.

    All transactions lock hosts in the order of their ids, against deadlocks.
    """
    usages(session, ids, lock=True)


def read(session: Session, ids: Iterable[int]) -> list[HostRow]:
    """Return the hosts of these ids, as far as they exist, in order of id."""
    found: list[HostRow] = []
    for some in in_parts(sorted(ids)):
        found += map(_as_row, session.execute(_READ, {"ids": some}))
    return found


@functools.cache
def _usages(since: bool) -> sa.Select[Any]:
    columns = _HOSTS.c
    chosen = sa.select(
        columns.id, columns.generation, columns.described, columns.reported_at, *_USED
    )
    return chosen.where(columns.touched_at >= sa.bindparam("since")) if since else chosen


@functools.cache
def _usages_of(lock: bool) -> sa.Select[Any]:
    ids: sa.BindParameter[Any] = sa.bindparam("ids", expanding=True)
    chosen = _usages(since=False).where(_HOSTS.c.id.in_(ids)).order_by(_HOSTS.c.id)
    return chosen.with_for_update() if lock else chosen


def _usage(row: Sequence[Any]) -> Usage:
    id_, generation, described, reported_at, instances, used = row
    return Usage(id_, generation, described, reported_at.timestamp(), instances, used)


_ROW = (
    "id", "generation", "described", "host", "node", "cell_uuid", "availability_zone", "enabled",
    "told_down", "reported_at", "io_operations", "failed_builds", "host_ip", "profile",
    "inventories", "topology", "metrics",
)  # fmt: skip
_READ = (
    sa.select(*(_HOSTS.c[name] for name in _ROW), *_USED)
    .where(_HOSTS.c.id.in_(sa.bindparam("ids", expanding=True)))
    .order_by(_HOSTS.c.id)
)


def as_row(row: sa.RowMapping) -> HostRow:
    """Return what decisions need of a row with all columns."""
    return _as_row([*(row[name] for name in _ROW), row["instances_used"], row["used"]])


def _as_row(row: Sequence[Any]) -> HostRow:
    *values, instances, used = row
    named = dict(zip(_ROW, values, strict=True))
    named["reported_at"] = named["reported_at"].timestamp()
    return HostRow(**named, instances=instances, used=used)
