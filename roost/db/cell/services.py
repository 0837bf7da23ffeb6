"""Daemons of a cell, and when they were last heard of."""

import uuid as uuids
from typing import Any

import sqlalchemy as sa

from roost import exception
from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.types import utcnow
from roost.objects import Service

_services = models.services


def report(
    session: Session, *, host: str, binary: str, availability_zone: str | None = None
) -> Service:
    """Note that a daemon is alive, and return what is known of it."""
    key = (_services.c.host == host, _services.c.binary == binary)
    seen = {"last_seen_up": utcnow(), "availability_zone": availability_zone}
    known = session.execute(sa.update(_services).where(*key).values(**seen))
    if known.rowcount == 0:
        _insert(session, host, binary, seen)
    return _service(session.execute(sa.select(_services).where(*key)).one())


def list_services(
    session: Session, *, host: str | None = None, binary: str | None = None
) -> list[Service]:
    """Return daemons in order of their first report."""
    query = sa.select(_services).order_by(_services.c.id)
    if host is not None:
        query = query.where(_services.c.host == host)
    if binary is not None:
        query = query.where(_services.c.binary == binary)
    return [_service(row) for row in session.execute(query)]


def get(session: Session, uuid: str) -> Service:
    """Return one daemon.

    :raises roost.exception.NotFound: when there is none of this uuid
    """
    row = session.execute(sa.select(_services).where(_services.c.uuid == uuid)).one_or_none()
    if row is None:
        raise exception.NotFound(f"Service {uuid} could not be found.")
    return _service(row)


def update(session: Session, uuid: str, **changes: Any) -> Service:
    """Change disabled, disabled_reason or forced_down."""
    session.execute(sa.update(_services).where(_services.c.uuid == uuid).values(**changes))
    return get(session, uuid)


def delete(session: Session, uuid: str) -> None:
    session.execute(sa.delete(_services).where(_services.c.uuid == uuid))


def _insert(session: Session, host: str, binary: str, seen: dict[str, Any]) -> None:
    new = {"uuid": str(uuids.uuid4()), "host": host, "binary": binary}
    flags = {"disabled": False, "forced_down": False, "created_at": seen["last_seen_up"]}
    insert_once(session, _services, {**new, **flags, **seen})


def _service(row: sa.Row[tuple[object, ...]]) -> Service:
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return Service.of(**{name: values[name] for name in Service.fields})
