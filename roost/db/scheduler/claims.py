"""What is set aside on hosts for instances.

Whoever changes claims also changes what their hosts have in use, and always in one order: first the
hosts (which locks them), then the claims. So ``hosts.*_used`` is the sum of the claims at every
commit, and no two transactions wait for each other in a circle.
"""

import dataclasses
import datetime
import functools
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import sqlalchemy as sa
from oslo_db import exception as db_exception

from roost import exception
from roost.db.engine import Session
from roost.db.scheduler import models
from roost.db.scheduler.hosts import RESOURCES, Amounts

RESERVED: Final = "reserved"
CONFIRMED: Final = "confirmed"

_CLAIMS = models.claims
_HOSTS = models.hosts
_SIZES = tuple(_CLAIMS.c[name] for name in RESOURCES)
# Statements of the busy path are put together once: that costs more than running them.
_FIND = sa.select(
    _CLAIMS.c.instance_uuid,
    _CLAIMS.c.host_id,
    _CLAIMS.c.request_uuid,
    _CLAIMS.c.project_id,
    *_SIZES,
).where(_CLAIMS.c.instance_uuid.in_(sa.bindparam("instance_uuids", expanding=True)))


class HostFull(exception.Conflict):
    """A host has no room for what it was to be given, or takes nothing any more."""


class ClaimMoved(exception.Conflict):
    """Somebody else gave, took or moved the claim of the same instance at the same time."""


@dataclasses.dataclass(frozen=True)
class Claim:
    """So much of a host, for one instance."""

    instance_uuid: str
    host_id: int
    request_uuid: str
    project_id: str
    sizes: Amounts


def find(
    session: Session, instance_uuids: Collection[str], *, host: str | None = None
) -> dict[str, Claim]:
    """Return the claims of these instances, by instance; only those on ``host`` if one is named."""
    statement = _FIND if host is None else _FIND.join(_HOSTS).where(_HOSTS.c.host == host)
    rows = session.execute(statement, {"instance_uuids": list(instance_uuids)})
    return {row.instance_uuid: _as_claim(row) for row in rows}


def exchange(
    session: Session,
    *,
    gained: Sequence[Claim] = (),
    lost: Sequence[Claim] = (),
    guards: Collection[str] = (),
    now: datetime.datetime,
) -> dict[int, Amounts]:
    """Take the ``lost`` claims away and make the ``gained`` ones: all of it, or an error.

    :param guards: what must hold of each host that gains: ``enabled``, and resources whose use must
        stay within capacity
    :returns: by how much the use of each host changed; each one's generation grew by one
    :raises HostFull: when a host that gains fails a guard; the transaction must be rolled back
    :raises ClaimMoved: when an instance's claim is not what the caller saw; likewise
    """
    changes = _changes(gained, lost)
    _lock(session, changes)
    _use(session, changes, gaining={claim.host_id for claim in gained}, guards=guards)
    _delete(session, lost)
    _insert(session, gained, now)
    return changes


def confirm(session: Session, host_id: int, instance_uuids: Collection[str]) -> int:
    """Mark the claims that a host knows of as confirmed; return how many were not so yet."""
    columns = _CLAIMS.c
    reserved = (columns.host_id == host_id, columns.state == RESERVED)
    waiting = session.scalars(sa.select(columns.instance_uuid).where(*reserved)).all()
    seen = set(instance_uuids).intersection(waiting)
    if seen:
        session.execute(
            sa.update(_CLAIMS)
            .where(*reserved, columns.instance_uuid.in_(seen))
            .values(state=CONFIRMED)
        )
    return len(seen)


def list_page(session: Session, *, marker: str | None, limit: int) -> list[dict[str, Any]]:
    """Return claims after the instance ``marker``, in order of instance uuid."""
    columns = _CLAIMS.c
    statement = (
        sa.select(columns.instance_uuid, _HOSTS.c.host, _HOSTS.c.node, columns.state, *_SIZES)
        .join(_HOSTS)
        .order_by(columns.instance_uuid)
        .limit(limit)
    )
    if marker is not None:
        statement = statement.where(columns.instance_uuid > marker)
    return [dict(row) for row in session.execute(statement).mappings()]


def _as_claim(row: sa.Row[Any]) -> Claim:
    return Claim(
        instance_uuid=row.instance_uuid,
        host_id=row.host_id,
        request_uuid=row.request_uuid,
        project_id=row.project_id,
        sizes=tuple(row[-len(RESOURCES) :]),
    )


def _changes(gained: Iterable[Claim], lost: Iterable[Claim]) -> dict[int, Amounts]:
    """Return what each host wins or loses, all its claims taken together."""
    changes: dict[int, Amounts] = {}
    for sign, claims in ((1, gained), (-1, lost)):
        for claim in claims:
            so_far = changes.get(claim.host_id, (0,) * len(RESOURCES))
            changes[claim.host_id] = tuple(
                had + sign * size for had, size in zip(so_far, claim.sizes, strict=True)
            )
    return changes


def _lock(session: Session, host_ids: Collection[int]) -> None:
    """Lock several hosts in the order of their ids, as everybody does; one needs no order."""
    if len(host_ids) > 1:
        found = sa.select(_HOSTS.c.id).where(_HOSTS.c.id.in_(host_ids))
        session.execute(found.order_by(_HOSTS.c.id).with_for_update()).all()


def _use(
    session: Session,
    changes: dict[int, Amounts],
    *,
    gaining: Collection[int],
    guards: Collection[str],
) -> None:
    """Change what hosts have in use: one statement for all that change by the same amounts."""
    alike: dict[tuple[Amounts, bool], list[int]] = defaultdict(list)
    for host_id, amounts in changes.items():
        alike[amounts, host_id in gaining].append(host_id)
    for (amounts, gains), ids in alike.items():
        growing = {name for name, amount in zip(RESOURCES, amounts, strict=True) if amount > 0}
        checked = {"enabled", *growing}.intersection(guards) if gains else ()
        values = {f"more_{name}": more for name, more in zip(RESOURCES, amounts, strict=True)}
        statement = _usage_change(frozenset(checked))
        changed = session.execute(statement, {"ids": ids, **values}).rowcount
        if changed != len(ids):
            raise HostFull(f"{len(ids) - changed} of {len(ids)} hosts cannot take what they should")


@functools.cache
def _usage_change(guards: frozenset[str]) -> sa.Update:
    columns = _HOSTS.c
    values: dict[str, Any] = {"generation": columns.generation + 1}
    conditions: list[sa.ColumnElement[bool]] = [columns.id.in_(sa.bindparam("ids", expanding=True))]
    if "enabled" in guards:
        conditions.append(columns.enabled == sa.true())
    for name in RESOURCES:
        used = columns[f"{name}_used"]
        values[used.name] = used + sa.bindparam(f"more_{name}")
        if name in guards:
            conditions.append(values[used.name] <= columns[f"{name}_capacity"])
    return sa.update(_HOSTS).values(values).where(*conditions)


def _delete(session: Session, lost: Iterable[Claim]) -> None:
    by_host: dict[int, list[str]] = defaultdict(list)
    for claim in lost:
        by_host[claim.host_id].append(claim.instance_uuid)
    for host_id, instance_uuids in by_host.items():
        gone = session.execute(
            sa.delete(_CLAIMS).where(
                _CLAIMS.c.host_id == host_id, _CLAIMS.c.instance_uuid.in_(instance_uuids)
            )
        )
        if gone.rowcount != len(instance_uuids):
            raise ClaimMoved("a claim to be taken away is not there any more")


def _insert(session: Session, gained: Sequence[Claim], now: datetime.datetime) -> None:
    if not gained:
        return
    rows = [
        {
            "instance_uuid": claim.instance_uuid,
            "host_id": claim.host_id,
            "request_uuid": claim.request_uuid,
            "project_id": claim.project_id,
            **dict(zip(RESOURCES, claim.sizes, strict=True)),
            "state": RESERVED,
            "created_at": now,
        }
        for claim in gained
    ]
    try:
        session.execute(sa.insert(_CLAIMS), rows)
    except db_exception.DBDuplicateEntry as error:
        raise ClaimMoved("an instance holds a claim already") from error
