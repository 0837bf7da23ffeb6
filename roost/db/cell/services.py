"""Daemons of a cell, and the times of their last reports.

Times are by the database's clock, so that those of hosts and conductors do not matter.
"""

import dataclasses
import datetime
import functools
import uuid as uuids
from collections.abc import Collection, Sequence
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
_OF_HOSTS = sa.select(_services).where(
    _services.c.host.in_(sa.bindparam("hosts", expanding=True))
    & (_services.c.binary == "roost-compute")
    | (_services.c.binary == "roost-cell-conductor")
)
_AN_INSTANT: Final = datetime.timedelta(microseconds=1)
# Built once: every daemon of a cell reports every few seconds, and to build a statement costs more
# than to run it.
_ITSELF: Final = (
    _services.c.host == sa.bindparam("of_host"),
    _services.c.binary == sa.bindparam("of_binary"),
)
_SEEN: Final = (
    sa.update(_services)
    .where(*_ITSELF)
    .values(
        last_seen_up=database_now(),
        availability_zone=sa.bindparam("zone"),
        version=sa.bindparam("its_version"),
    )
)
_KNOWN: Final = sa.select(_services).where(*_ITSELF)
_FORCED_DOWN: Final = sa.select(_services.c.id).where(*_ITSELF, _services.c.forced_down)


@dataclasses.dataclass(frozen=True)
class RollCall:
    """Daemons in order of their first report, and the time at which they were read."""

    now: datetime.datetime
    services: Sequence[Service]


def report(
    session: Session,
    *,
    host: str,
    binary: str,
    availability_zone: str | None = None,
    state_id: str | None = None,
    version: str | None = None,
) -> Service:
    """Record that a daemon is alive, and return its service record.

    :param state_id: of a host: the id of its state path
    :param version: of a host: that of the RPC interface that it serves
    :raises roost.exception.Conflict: when the record is of another daemon with the same name
    """
    itself = {"of_host": host, "of_binary": binary}
    seen = {"zone": availability_zone, "its_version": version}
    if session.execute(_SEEN, {**itself, **seen}).rowcount == 0:
        first = {"availability_zone": availability_zone, "version": version}
        _insert(session, host, binary, {"last_seen_up": database_now(), **first})
    known = session.execute(_KNOWN, itself).one()
    if state_id is not None:
        _check_state(session, known, state_id)
    return _service(known)


def forget_state(session: Session, host: str, *, binary: str) -> bool:
    """Accept the next daemon that reports with this name; may be repeated.

    :returns: False: no daemon has ever reported with it
    """
    c = _services.c
    itself = sa.update(_services).where(c.host == host, c.binary == binary)
    return session.execute(itself.values(state_id=None)).rowcount == 1


def list_services(
    session: Session,
    *,
    hosts: Collection[str] | None = None,
    binary: str | None = None,
    uuid: str | None = None,
) -> list[Service]:
    """Return daemons in order of their first report.

    :param hosts: only those on these; None: on any
    :param uuid: only this one
    """
    return [_service(row) for row in _list(session, hosts, binary, uuid)]


def _list(
    session: Session, hosts: Collection[str] | None, binary: str | None, uuid: str | None
) -> Sequence[sa.Row[Any]]:
    """Return the rows of daemons, each with the time at which it was read."""
    given: dict[str, Any] = {}
    if hosts is not None:
        given["of_hosts"] = [*hosts]
    if binary is not None:
        given["of_binary"] = binary
    if uuid is not None:
        given["of_uuid"] = uuid
    return session.execute(_listing(frozenset(given)), given).all()


@functools.cache  # conductors list all daemons each second
def _listing(given: frozenset[str]) -> sa.Select[Any]:
    c = _services.c
    conditions = {
        "of_hosts": c.host.in_(sa.bindparam("of_hosts", expanding=True)),
        "of_binary": c.binary == sa.bindparam("of_binary"),
        "of_uuid": c.uuid == sa.bindparam("of_uuid"),
    }
    query = sa.select(_services, database_now().label("read_at")).order_by(c.id)
    return query.where(*[conditions[name] for name in sorted(given)])


def list_of_hosts(session: Session, hosts: Collection[str]) -> list[Service]:
    """Return the compute daemons of hosts, and the cell-conductors, which take their reports."""
    return [_service(row) for row in session.execute(_OF_HOSTS, {"hosts": [*hosts]})]


def is_forced_down(session: Session, host: str) -> bool:
    """Return whether an operator has declared a host down: then no work is given to it."""
    found = session.execute(_FORCED_DOWN, {"of_host": host, "of_binary": "roost-compute"})
    return found.first() is not None


def zones(session: Session, *, binary: str) -> dict[str, str]:
    """Return, by host, the zone that its daemon of this name reports, if it reports one."""
    c = _services.c
    query = sa.select(c.host, c.availability_zone).where(c.binary == binary)
    return {host: zone for host, zone in session.execute(query) if zone}


def call_roll(
    session: Session,
    *,
    hosts: Collection[str] | None = None,
    binary: str | None = None,
    uuid: str | None = None,
) -> RollCall:
    """Return daemons and the time by the same clock, to find those that do not report.

    :param hosts: only those on these; None: on any
    :param uuid: only this one
    """
    rows = _list(session, hosts, binary, uuid)
    now = rows[0].read_at if rows else clock.now(session)
    return RollCall(now, [_service(row) for row in rows])


def get(session: Session, uuid: str, *, lock: bool = False) -> Service:
    """Return one daemon; ``lock``: locked until the transaction ends.

    :raises roost.exception.NotFound: when there is none of this uuid
    """
    query = sa.select(_services).where(_services.c.uuid == uuid)
    row = session.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise exception.NotFound(f"Service {uuid} could not be found.")
    return _service(row)


def update(session: Session, uuid: str, **changes: Any) -> Service:
    """Change disabled, disabled_reason or forced_down.

    A change of ``disabled`` gets a later time than the previous one, even if the clock went back.

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


def _check_state(session: Session, known: sa.Row[Any], state_id: str) -> None:
    """Refuse a second daemon of the same name, and record the state path of a new one.

    :raises roost.exception.Conflict: saying what to do
    """
    if known.state_id is None:
        itself = sa.update(_services).where(_services.c.id == known.id)
        session.execute(itself.values(state_id=state_id))
    elif known.state_id != state_id:
        raise exception.Conflict(
            f"The cell knows the host {known.host} with another state path. If this machine and its"
            f" state path replace the earlier host, stop that one and run roost-manage cell"
            f" replace-host {known.host}; else stop one of the two, or give it another name."
        )


def _service(row: sa.Row[tuple[object, ...]]) -> Service:
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return Service.of(**{name: values[name] for name in Service.fields})
