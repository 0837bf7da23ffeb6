"""The quota of resizes: until one is over, its server counts with the larger of both flavors.

A mapping has the amounts that its project is charged for, and in ``resize_uuid`` the migration for
which; :func:`settle` gives back what the server does not need in the end. A delete gives back what
the mapping has, at any moment.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

import sqlalchemy as sa

from roost import exception
from roost.db import prepared
from roost.db.api import models, quota
from roost.db.engine import Session
from roost.objects import Flavor

SECONDS_TO_BEGIN: Final = 30.0  # from the charge to the migration; then it is refused

_mappings = models.instance_mappings
_c = _mappings.c
_LIVE = (
    sa.select(_mappings)
    .where(_c.instance_uuid == sa.bindparam("instance_uuid"))
    .where(_c.queued_for_delete.is_(False), _c.put_away_at.is_(None))
    .with_for_update()
)


class UnsettledResize(NamedTuple):
    """A server whose quota is to be settled when the migration is over; ``id`` of its mapping."""

    id: int
    instance_uuid: str
    cell_uuid: str
    resize_uuid: str


def charge(
    session: Session,
    instance_uuid: str,
    flavor: Flavor,
    *,
    migration_uuid: str,
    defaults: Mapping[str, int],
) -> None:
    """Take the quota by which a flavor is larger than what the server has; may be repeated.

    :param defaults: limits of resources for which its project has none of its own; -1: no limit
    :raises roost.exception.QuotaExceeded: when it does not suffice; roll back then
    :raises roost.exception.Conflict: when another resize is not settled, the ``resize_uuid`` of its
        details
    :raises roost.exception.NotFound: when the server is being deleted
    """
    row = session.execute(_LIVE, {"instance_uuid": instance_uuid}).one_or_none()
    if row is None:
        raise exception.NotFound(f"Instance {instance_uuid} could not be found.")
    if row.resize_uuid == migration_uuid:  # an earlier try was committed
        return
    if row.resize_uuid is not None:
        why = f"Instance {instance_uuid} is being resized already."
        raise exception.Conflict(why, resize_uuid=row.resize_uuid)
    larger = {
        "vcpus": max(row.vcpus, flavor.vcpus),
        "memory_mb": max(row.memory_mb, flavor.memory_mb),
    }
    more = {"cores": larger["vcpus"] - row.vcpus, "ram": larger["memory_mb"] - row.memory_mb}
    asked = {name: amount for name, amount in more.items() if amount}
    if asked:
        whose = {"project_id": row.project_id, "user_id": row.user_id}
        quota.take(session, **whose, defaults=defaults, **asked)
    values = {**larger, "resize_uuid": migration_uuid}
    prepared.update(session, _mappings, {"id": row.id}, values)


def settle(session: Session, instance_uuid: str, flavor: Flavor, *, migration_uuid: str) -> None:
    """Charge for the flavor that a server has after a resize; nothing, if that is done already."""
    mine = (_c.instance_uuid == instance_uuid, _c.resize_uuid == migration_uuid)
    row = session.execute(sa.select(_mappings).where(*mine).with_for_update()).one_or_none()
    if row is None:
        return
    has = {"vcpus": flavor.vcpus, "memory_mb": flavor.memory_mb}
    session.execute(sa.update(_mappings).where(_c.id == row.id).values(has | {"resize_uuid": None}))
    if not row.queued_for_delete and row.put_away_at is None:
        quota.give_back(
            session,
            project_id=row.project_id,
            cores=row.vcpus - flavor.vcpus,
            ram=row.memory_mb - flavor.memory_mb,
        )


def list_unsettled(
    session: Session, *, marker: int = 0, limit: int = 1000, but_not_in: Collection[str] = ()
) -> list[UnsettledResize]:
    """Return servers whose quota is not settled, by pages.

    :param marker: the id of the last mapping of the page before
    :param but_not_in: cells whose servers are left out
    """
    rows = session.execute(
        sa.select(*[_c[name] for name in UnsettledResize._fields])
        .where(_c.resize_uuid.is_not(None), _c.queued_for_delete.is_(False), _c.id > marker)
        .where(_c.cell_uuid.not_in(but_not_in))
        .order_by(_c.id)
        .limit(limit)
    )
    return [UnsettledResize(*row) for row in rows]
