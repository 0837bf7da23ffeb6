"""Host aggregates: groups of hosts with metadata that applies to all of them.

Every change first takes the next number of :mod:`roost.db.api.revisions` as its version. That also
serializes changes, so what a change reads before it writes still holds when it commits: names are
unique, and a host has one availability zone.
"""

import dataclasses
import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost import exception
from roost.db.api import models, revisions
from roost.db.engine import Session
from roost.db.types import database_now
from roost.objects import Aggregate

ZONE: Final = "availability_zone"  # the key of metadata that makes an aggregate a zone

_aggregates = models.host_aggregates
_hosts = models.aggregate_hosts
_metadata = models.aggregate_metadata
_PLAIN = ("id", "uuid", "name", "version", "created_at", "updated_at")


class InTwoZones(exception.Conflict):
    """A host would belong to two availability zones."""


@dataclasses.dataclass(frozen=True)
class AggregateChange:
    """An aggregate after a change, and the hosts that it moved: host -> (old zone, new zone).

    None: the zone in the host's own configuration.
    """

    aggregate: Aggregate
    moved: Mapping[str, tuple[str | None, str | None]]


def create(session: Session, name: str, *, metadata: Mapping[str, str]) -> Aggregate:
    """Add an aggregate without hosts.

    :raises roost.exception.Conflict: when its name is taken
    """
    version = revisions.advance(session, revisions.AGGREGATES)
    _check_name(session, name)
    values = {
        "uuid": str(uuid.uuid4()),
        "name": name,
        "version": version,
        "created_at": database_now(),
    }
    session.execute(sa.insert(_aggregates).values(values))
    mine = sa.select(_aggregates.c.id).where(_aggregates.c.uuid == values["uuid"])
    aggregate_id = int(session.execute(mine).scalar_one())
    _insert_metadata(session, aggregate_id, metadata)
    return get(session, aggregate_id)


def get(session: Session, aggregate_id: int) -> Aggregate:
    """Return an aggregate.

    :raises roost.exception.NotFound: when there is none
    """
    query = sa.select(_aggregates).where(_aggregates.c.id == aggregate_id)
    rows = session.execute(query).all()
    if not rows:
        raise exception.NotFound(f"Aggregate {aggregate_id} could not be found.")
    return _loaded(session, rows)[0]


def list_all(session: Session) -> list[Aggregate]:
    """Return all aggregates in order of their creation."""
    rows = session.execute(sa.select(_aggregates).order_by(_aggregates.c.id)).all()
    return _loaded(session, rows)


def list_page(session: Session, *, after: str | None, limit: int) -> list[Aggregate]:
    """Return aggregates whose uuid is above ``after``, in order of uuid."""
    query = sa.select(_aggregates).order_by(_aggregates.c.uuid).limit(limit)
    if after is not None:
        query = query.where(_aggregates.c.uuid > after)
    return _loaded(session, session.execute(query).all())


def uuids_of_host(session: Session, host: str) -> list[str]:
    """Return the uuids of a host's aggregates, in order."""
    query = sa.select(_aggregates.c.uuid).join(_hosts).where(_hosts.c.host == host)
    return [*session.scalars(query.order_by(_aggregates.c.uuid))]


def memberships(session: Session, uuids: Collection[str]) -> dict[str, set[str]]:
    """Return which of these aggregates each of their hosts is in."""
    query = sa.select(_hosts.c.host, _aggregates.c.uuid).join(_aggregates)
    found: dict[str, set[str]] = defaultdict(set)
    for host, aggregate in session.execute(query.where(_aggregates.c.uuid.in_(uuids))):
        found[host].add(aggregate)
    return dict(found)


def zones(session: Session) -> dict[str, str]:
    """Return the availability zone of each host whose aggregate sets one."""
    return {host: min(names) for host, names in _zones(session, sa.true()).items()}


def update(
    session: Session,
    aggregate_id: int,
    *,
    name: str | None = None,
    metadata: Mapping[str, str | None],
) -> AggregateChange:
    """Change the name, if one is given, and metadata: None removes a key, others stay.

    :raises roost.exception.NotFound: when there is no such aggregate
    :raises roost.exception.Conflict: when the name is taken
    :raises InTwoZones: when one of its hosts has another zone already
    """
    touched = _hosts_of(aggregate_id) if ZONE in metadata else sa.false()
    work = _begin(session, aggregate_id, touched)
    if name is not None and name != work.before.name:
        _check_name(session, name)
        mine = sa.update(_aggregates).where(_aggregates.c.id == aggregate_id)
        session.execute(mine.values(name=name))
    session.execute(
        sa.delete(_metadata).where(
            _metadata.c.aggregate_id == aggregate_id, _metadata.c.key.in_(list(metadata))
        )
    )
    kept = {key: value for key, value in metadata.items() if value is not None}
    _insert_metadata(session, aggregate_id, kept)
    return _end(session, work)


def add_host(session: Session, aggregate_id: int, host: str) -> AggregateChange:
    """Add a host.

    :raises roost.exception.NotFound: when there is no such aggregate
    :raises roost.exception.Conflict: when it has the host already
    :raises InTwoZones: when both the host and the aggregate have a zone, and not the same
    """
    work = _begin(session, aggregate_id, _hosts.c.host == host)
    if host in work.before.hosts:
        raise exception.Conflict(f"Aggregate {aggregate_id} already has host {host}.")
    session.execute(sa.insert(_hosts).values(aggregate_id=aggregate_id, host=host))
    return _end(session, work)


def remove_host(session: Session, aggregate_id: int, host: str) -> AggregateChange:
    """Remove a host.

    :raises roost.exception.NotFound: when there is no such aggregate, or it has no such host
    """
    work = _begin(session, aggregate_id, _hosts.c.host == host)
    mine = (_hosts.c.aggregate_id == aggregate_id, _hosts.c.host == host)
    if session.execute(sa.delete(_hosts).where(*mine)).rowcount != 1:
        raise exception.NotFound(f"Aggregate {aggregate_id} has no host {host}.")
    return _end(session, work)


def delete(session: Session, aggregate_id: int) -> Aggregate:
    """Delete an aggregate, and return it marked ``deleted``, with a higher version.

    :raises roost.exception.NotFound: when there is none
    :raises roost.exception.Conflict: while it has hosts
    """
    work = _begin(session, aggregate_id, sa.false())
    if work.before.hosts:
        raise exception.Conflict("Host aggregate is not empty")
    session.execute(sa.delete(_metadata).where(_metadata.c.aggregate_id == aggregate_id))
    session.execute(sa.delete(_aggregates).where(_aggregates.c.id == aggregate_id))
    return Aggregate.of(**{**work.before.values(), "version": work.version, "deleted": True})


@dataclasses.dataclass(frozen=True)
class _Work:
    """A change under way: its version, the state before, and the hosts that it may move."""

    version: int
    before: Aggregate
    touched: sa.ColumnElement[bool]
    zones: Mapping[str, set[str]]


def _begin(session: Session, aggregate_id: int, touched: sa.ColumnElement[bool]) -> _Work:
    """Wait for other changes to end, then read the aggregate."""
    version = revisions.advance(session, revisions.AGGREGATES)
    return _Work(version, get(session, aggregate_id), touched, _zones(session, touched))


def _end(session: Session, work: _Work) -> AggregateChange:
    """Give the aggregate its new version, and return what has changed."""
    mine = _aggregates.c.id == work.before.id
    stamp = {"version": work.version, "updated_at": database_now()}
    session.execute(sa.update(_aggregates).where(mine).values(stamp))
    after, zones_after = get(session, work.before.id), _zones(session, work.touched)
    torn = [names for names in zones_after.values() if len(names) > 1]
    if torn:
        others = sorted(set().union(*torn) - {after.metadata.get(ZONE)})
        raise InTwoZones(f"One or more hosts already in availability zone(s) {others}")
    moved = {
        host: (min(before, default=None), min(now, default=None))
        for host in work.zones.keys() | zones_after.keys()
        if (before := work.zones.get(host, set())) != (now := zones_after.get(host, set()))
    }
    return AggregateChange(after, moved)


def _hosts_of(aggregate_id: int) -> sa.ColumnElement[bool]:
    mine = _hosts.alias()
    return _hosts.c.host.in_(sa.select(mine.c.host).where(mine.c.aggregate_id == aggregate_id))


def _zones(session: Session, condition: sa.ColumnElement[bool]) -> dict[str, set[str]]:
    """Return the zones that aggregates give to hosts; outside a change at most one per host."""
    query = (
        sa.select(_hosts.c.host, _metadata.c.value)
        .join(_metadata, _metadata.c.aggregate_id == _hosts.c.aggregate_id)
        .where(_metadata.c.key == ZONE, condition)
    )
    found: dict[str, set[str]] = defaultdict(set)
    for host, zone in session.execute(query):
        found[host].add(zone)
    return dict(found)


def _check_name(session: Session, name: str) -> None:
    taken = sa.select(_aggregates.c.id).where(_aggregates.c.name == name)
    if session.execute(taken).first() is not None:
        raise exception.Conflict(f"Aggregate {name} already exists.")


def _insert_metadata(session: Session, aggregate_id: int, metadata: Mapping[str, str]) -> None:
    rows = [
        {"aggregate_id": aggregate_id, "key": key, "value": value}
        for key, value in metadata.items()
    ]
    if rows:
        session.execute(sa.insert(_metadata), rows)


def _loaded(session: Session, rows: Sequence[sa.Row[Any]]) -> list[Aggregate]:
    """Make objects of rows that were just read.

    Hosts and metadata are read after the version. So, if another request changes an aggregate
    meanwhile, its content may be newer than its version, but never older: that would stay wrong.
    """
    hosts: dict[int, list[str]] = {row.id: [] for row in rows}
    metadata: dict[int, dict[str, str]] = {row.id: {} for row in rows}
    if rows:
        for each in session.execute(sa.select(_hosts).where(_hosts.c.aggregate_id.in_(hosts))):
            hosts[each.aggregate_id].append(each.host)
        mine = sa.select(_metadata).where(_metadata.c.aggregate_id.in_(metadata))
        for each in session.execute(mine):
            metadata[each.aggregate_id][each.key] = each.value
    return [
        Aggregate.of(
            hosts=sorted(hosts[row.id]),
            metadata=metadata[row.id],
            **{name: row._mapping[name] for name in _PLAIN},  # noqa: SLF001 - a public name
        )
        for row in rows
    ]
