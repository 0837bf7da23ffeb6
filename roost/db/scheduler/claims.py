"""Claims: resources of hosts that are reserved for instances: one each, and two for one that moves.

A transaction that changes claims also changes the usage of their hosts, always in one order: first
the server groups (which locks them), then the hosts, then the claims. So ``hosts.used`` is the sum
of the claims at every commit, and transactions do not deadlock.
"""

import dataclasses
import datetime
from collections.abc import Collection, Sequence
from typing import Any, Final

import sqlalchemy as sa
from oslo_db import exception as db_exception

from roost import exception
from roost.db.engine import Session
from roost.db.scheduler import models
from roost.db.scheduler.ranges import check_limit
from roost.objects.allocations import Allocations

RESERVED: Final = "reserved"
CONFIRMED: Final = "confirmed"
# The instance is there, says who moves it: it does not expire, and reports that were sent before it
# came do not end it.
ATTESTED: Final = "attested"
MOST: Final = 2  # claims of an instance

_CLAIMS = models.claims
_HOSTS = models.hosts
_COLUMNS = (
    _CLAIMS.c.instance_uuid,
    _CLAIMS.c.host_id,
    _CLAIMS.c.allocations,
    _CLAIMS.c.number,
    _CLAIMS.c.state,
    _CLAIMS.c.request_uuid,
    _CLAIMS.c.project_id,
    _CLAIMS.c.group_uuid,
    _CLAIMS.c.details,
)
# Frequent statements are built once: to build them costs more than to run them.
_FIND = (
    sa.select(*_COLUMNS)
    .where(_CLAIMS.c.instance_uuid.in_(sa.bindparam("instance_uuids", expanding=True)))
    .order_by(_CLAIMS.c.instance_uuid, _CLAIMS.c.number)
)
_DELETE = sa.delete(_CLAIMS).where(
    sa.tuple_(_CLAIMS.c.instance_uuid, _CLAIMS.c.host_id, _CLAIMS.c.state).in_(
        sa.bindparam("lost", expanding=True)
    )
)
_INSERT = sa.insert(_CLAIMS)


class ClaimMoved(exception.Conflict):
    """Another transaction has created, deleted, confirmed or moved the instance's claim."""


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """An instance's claim on a host; ``details`` is JSON of CPUs and devices, if any.

    ``number``, 0 or 1, differs from that of the instance's other claim, if it has one.
    """

    instance_uuid: str
    host_id: int
    allocations: Allocations
    number: int = 0
    state: str = RESERVED
    request_uuid: str | None = None
    project_id: str | None = None
    group_uuid: str | None = None
    details: str | None = None


_FIELDS: Final = [field.name for field in dataclasses.fields(Claim)]


def find(session: Session, instance_uuids: Collection[str]) -> dict[str, list[Claim]]:
    """Return the claims of these instances, by instance."""
    found: dict[str, list[Claim]] = {}
    if instance_uuids:
        for row in session.execute(_FIND, {"instance_uuids": list(instance_uuids)}):
            found.setdefault(row[0], []).append(Claim(*row))
    return found


def on_host(session: Session, host_id: int) -> dict[str, str]:
    """Return the state of each claim on a host, by instance."""
    columns = _CLAIMS.c
    chosen = sa.select(columns.instance_uuid, columns.state).where(columns.host_id == host_id)
    return {row[0]: row[1] for row in session.execute(chosen)}


def details_on(session: Session, host_ids: Collection[int]) -> list[tuple[int, str]]:
    """Return (host id, details) of each claim with details on these hosts."""
    columns = _CLAIMS.c
    chosen = sa.select(columns.host_id, columns.details).where(
        columns.host_id.in_(list(host_ids)), columns.details.is_not(None)
    )
    return [(row[0], row[1]) for row in session.execute(chosen)]


def delete(session: Session, lost: Collection[Claim]) -> None:
    """Delete claims.

    :raises ClaimMoved: when one has changed since it was read; roll back then
    """
    if lost:
        keys = [(claim.instance_uuid, claim.host_id, claim.state) for claim in lost]
        if session.execute(_DELETE, {"lost": keys}).rowcount != len(keys):
            raise ClaimMoved("a claim to be deleted has changed")


def insert(session: Session, gained: Sequence[Claim], *, now: datetime.datetime) -> None:
    """Make claims.

    :raises ClaimMoved: when an instance holds one of that number already; roll back then
    """
    if gained:
        try:
            session.execute(_INSERT, [_as_row(claim, now) for claim in gained])
        except db_exception.DBDuplicateEntry as error:
            raise ClaimMoved("an instance holds another claim meanwhile") from error


def confirm(
    session: Session, host_id: int, instance_uuids: Collection[str], *, state: str = CONFIRMED
) -> None:
    """Mark claims on a host as confirmed by it, or as attested by others."""
    columns = _CLAIMS.c
    session.execute(
        sa.update(_CLAIMS)
        .where(columns.host_id == host_id, columns.instance_uuid.in_(list(instance_uuids)))
        .values(state=state)
    )


def list_expired(
    session: Session, *, reserved_before: datetime.datetime, limit: int
) -> list[Claim]:
    """Return claims that are reserved since before that time, the oldest first."""
    columns = _CLAIMS.c
    chosen = (
        sa.select(*_COLUMNS)
        .where(columns.state == RESERVED, columns.created_at < reserved_before)
        .order_by(columns.created_at)
        .limit(limit)
    )
    return [Claim(*row) for row in session.execute(chosen)]


def list_page(
    session: Session,
    *,
    marker: str | None,
    limit: int,
    host: str | None = None,
    instance_uuids: Sequence[str] | None = None,
    project_id: str | None = None,
    now: datetime.datetime,
) -> list[dict[str, Any]]:
    """Return claims after the instance ``marker``, in order of instance uuid, with ages in seconds.

    A page has all claims of its last instance, even beyond the limit.

    :param host: only those on this host
    :param instance_uuids: only those of these instances
    :param project_id: only those of this project's instances
    """
    check_limit(limit)
    columns, hosts = _CLAIMS.c, _HOSTS.c
    location = (hosts.host, hosts.node, hosts.cell_uuid)
    shown = (columns.project_id, columns.group_uuid, columns.state, columns.created_at)
    statement = (
        sa.select(columns.instance_uuid, *location, *shown, columns.allocations)
        .join(_HOSTS)
        .order_by(columns.instance_uuid, columns.number)
    )
    if host is not None:
        statement = statement.where(hosts.host == host)
    if instance_uuids is not None:
        statement = statement.where(columns.instance_uuid.in_(instance_uuids))
    if project_id is not None:
        statement = statement.where(columns.project_id == project_id)
    page = statement.limit(limit)
    if marker is not None:
        page = page.where(columns.instance_uuid > marker)
    rows = session.execute(page).mappings().all()
    if len(rows) == limit:
        last = rows[-1]["instance_uuid"]
        rest = statement.where(columns.instance_uuid == last)
        rows = [row for row in rows if row["instance_uuid"] != last]
        rows += session.execute(rest).mappings().all()
    return [{**row, **_made(row["created_at"], now)} for row in rows]


def _made(at: datetime.datetime, now: datetime.datetime) -> dict[str, Any]:
    """Return the time by the clock of this database, and the age: readers have other clocks."""
    return {"created_at": at.isoformat(), "age": (now - at).total_seconds()}


def _as_row(claim: Claim, now: datetime.datetime) -> dict[str, Any]:
    return {**{name: getattr(claim, name) for name in _FIELDS}, "created_at": now}
