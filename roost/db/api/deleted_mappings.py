"""Where deleted instances are, until their cells purge them.

They are apart from the mappings of those that live, so what is asked of these costs the same
however many servers came and went. Lists of deleted servers need them for the markers of their
pages, and so do the actions of a deleted server.
"""

import datetime
from collections.abc import Sequence

import sqlalchemy as sa

from roost.db import clock
from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.types import database_now
from roost.objects import InstanceMapping

_deleted = models.deleted_mappings
_KEPT = ("instance_uuid", "request_uuid", "cell_uuid", "project_id", "user_id", "created_at")


def keep(session: Session, mapping: InstanceMapping) -> None:
    """Keep what is known of an instance whose mapping is deleted in this transaction."""
    kept = {name: getattr(mapping, name) for name in _KEPT}
    insert_once(session, _deleted, {**kept, "deleted_at": database_now()})


def find(session: Session, instance_uuid: str) -> InstanceMapping | None:
    """Return where an instance was; it counts against nothing."""
    query = sa.select(_deleted).where(_deleted.c.instance_uuid == instance_uuid)
    row = session.execute(query).one_or_none()
    if row is None:
        return None
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    kept = {name: values[name] for name in _KEPT}
    return InstanceMapping.of(**kept, queued_for_delete=True, vcpus=0, memory_mb=0, turns=0)


def list_older_than(
    session: Session, age: datetime.timedelta, *, cell_uuid: str, skip: int, limit: int
) -> list[str]:
    """Return the instances of a cell that were deleted so long ago, the oldest first.

    :param skip: how many of them are left out
    """
    c = _deleted.c
    query = (
        sa.select(c.instance_uuid)
        .where(c.cell_uuid == cell_uuid, c.deleted_at <= clock.now(session) - age)
        .order_by(c.deleted_at, c.instance_uuid)
        .offset(skip)
        .limit(limit)
    )
    return [*session.scalars(query)]


def forget(session: Session, instance_uuids: Sequence[str]) -> None:
    """Forget where these were."""
    session.execute(sa.delete(_deleted).where(_deleted.c.instance_uuid.in_(instance_uuids)))
