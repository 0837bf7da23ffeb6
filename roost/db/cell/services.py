"""Daemons of a cell, and when they were last heard of.

Times are by the database's clock, so that those of hosts and conductors do not matter.
"""

import dataclasses
import datetime
import uuid as uuids
from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost import exception
from roost.db import clock
from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.types import database_now
from roost.objects import Service

_services = models.services
_AN_INSTANT: Final = datetime.timedelta(microseconds=1)
# Made once: every daemon of a cell is heard of every few seconds, and to make them costs more than
# to carry them out.
_ITSELF: Final = (
    _services.c.host == sa.bindparam("of_host"),
    _services.c.binary == sa.bindparam("of_binary"),
)
_HEARD: Final = (
    sa.update(_services)
    .where(*_ITSELF)
    .values(last_seen_up=database_now(), availability_zone=sa.bindparam("zone"))
)
_KNOWN: Final = sa.select(_services).where(*_ITSELF)


@dataclasses.dataclass(frozen=True)
class RollCall:
    """Daemons in order of their first report, and the time at which they were looked at."""

    now: datetime.datetime
    services: Sequence[Service]


def report(
    session: Session, *, host: str, binary: str, availability_zone: str | None = None
) -> Service:
    """Note that a daemon is alive, and return what is known of it."""
    itself = {"of_host": host, "of_binary": binary}
    if session.execute(_HEARD, {**itself, "zone": availability_zone}).rowcount == 0:
        seen = {"last_seen_up": database_now(), "availability_zone": availability_zone}
        _insert(session, host, binary, seen)
    return _service(session.execute(_KNOWN, itself).one())


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


def call_roll(session: Session, *, host: str | None = None, binary: str | None = None) -> RollCall:
    """Return daemons and, by the clock that stamps them, the time: to see who is silent."""
    now = clock.now(session)  # first: what is heard after it counts in any case
    return RollCall(now, list_services(session, host=host, binary=binary))


def get(session: Session, uuid: str, *, lock: bool = False) -> Service:
    """Return one daemon; ``lock`` keeps it as it is until the transaction ends.

    :raises roost.exception.NotFound: when there is none of this uuid
    """
    query = sa.select(_services).where(_services.c.uuid == uuid)
    row = session.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise exception.NotFound(f"Service {uuid} could not be found.")
    return _service(row)


def update(session: Session, uuid: str, **changes: Any) -> Service:
    """Change disabled, disabled_reason or forced_down.

    A change of ``disabled`` gets a time later than that of the one before, whatever the clock says.

    :raises roost.exception.NotFound: when there is none of this uuid
    """
    known = get(session, uuid, lock=True)
    if "disabled" in changes:
        changes["disabled_at"] = clock.now(session)
        if known.disabled_at is not None:
            changes["disabled_at"] = max(changes["disabled_at"], known.disabled_at + _AN_INSTANT)
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
