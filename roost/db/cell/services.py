"""Daemons of a cell, and when they were last heard of.

Times are by the database's clock, so that those of hosts and conductors do not matter.
"""

import dataclasses
import datetime
import uuid as uuids
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

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
    session: Session,
    *,
    host: str,
    binary: str,
    availability_zone: str | None = None,
    state: Mapping[str, Any] | None = None,
) -> Service:
    """Note that a daemon is alive, and return what is known of it.

    :param state: of a host: its ``state_id``, ``starts`` and ``run_id``
    :raises roost.exception.Conflict: when it is not the daemon of this name that is known
    """
    itself = {"of_host": host, "of_binary": binary}
    if session.execute(_HEARD, {**itself, "zone": availability_zone}).rowcount == 0:
        seen = {"last_seen_up": database_now(), "availability_zone": availability_zone}
        _insert(session, host, binary, seen)
    known = session.execute(_KNOWN, itself).one()
    if state is not None:
        _check_state(session, known, state)
    return _service(known)


class Start(NamedTuple):
    """The start of a daemon that is known, and whether that daemon is refused: it is replaced."""

    run_id: str | None
    replaced: bool


def start_of(session: Session, host: str, *, binary: str) -> Start | None:
    """Return the start that is known of a daemon; None: it has never reported."""
    row = session.execute(_KNOWN, {"of_host": host, "of_binary": binary}).one_or_none()
    return None if row is None else Start(row.run_id, row.replaced)


def forget_state(session: Session, host: str, *, binary: str, known: Start) -> bool:
    """Let the next start of this name be the one that is known, whatever state path it has.

    The daemon that is known now is refused from here on, also if it reports first, or is started
    again; but where one is refused already, whoever comes next is the host. May be repeated.

    :param known: as :func:`start_of` told before
    :returns: False: another daemon was taken in since
    """
    is_known = (
        _services.c.run_id.is_not_distinct_from(known.run_id),
        _services.c.replaced == known.replaced,
    )
    anybody = {"state_id": None, "run_id": None, "replaced": False}
    session.execute(
        sa.update(_services)
        .where(_services.c.host == host, _services.c.binary == binary, *is_known)
        .values(**(anybody if known.replaced else {"replaced": True}))
    )
    found = start_of(session, host, binary=binary)
    return found == (Start(None, False) if known.replaced else Start(known.run_id, True))


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
    query = sa.select(_services).order_by(_services.c.id)
    if hosts is not None:
        query = query.where(_services.c.host.in_(hosts))
    if binary is not None:
        query = query.where(_services.c.binary == binary)
    if uuid is not None:
        query = query.where(_services.c.uuid == uuid)
    return [_service(row) for row in session.execute(query)]


def call_roll(
    session: Session,
    *,
    hosts: Collection[str] | None = None,
    binary: str | None = None,
    uuid: str | None = None,
) -> RollCall:
    """Return daemons and, by the clock that stamps them, the time: to see who is silent.

    :param hosts: only those on these; None: on any
    :param uuid: only this one
    """
    now = clock.now(session)  # first: what is heard after it counts in any case
    return RollCall(now, list_services(session, hosts=hosts, binary=binary, uuid=uuid))


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


def _check_state(session: Session, known: sa.Row[Any], state: Mapping[str, Any]) -> None:
    """Refuse a twin, and note a start that is new.

    :raises roost.exception.Conflict: saying what to do
    """
    told = (state["state_id"], state["starts"], state["run_id"])
    if (known.state_id, known.starts, known.run_id) == told and not known.replaced:
        return
    if known.replaced and _is_former(known, state):
        raise exception.Conflict(
            f"Another machine is to be the host {known.host}, as roost-manage cell replace-host was"
            f" told. If this one is to be it all the same, run roost-manage cell replace-host"
            f" {known.host} once more: then the next one that reports is it."
        )
    advice = (
        f"If this machine and its state path take the place of the one before, run roost-manage"
        f" cell replace-host {known.host}; else end one of the two, or give it a name of its own."
    )
    if not known.replaced and _is_stranger(known, state):
        raise exception.Conflict(
            f"The cell knows the host {known.host} with another state path. {advice}"
        )
    if not known.replaced and known.state_id is not None and state["starts"] <= known.starts:
        raise exception.Conflict(
            f"Another {known.binary} of the host {known.host}, with a copy of this state path, was"
            f" started since. {advice}"
        )
    taken = {**of_start(state), "replaced": False}
    session.execute(sa.update(_services).where(_services.c.id == known.id).values(**taken))


def of_start(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a cell keeps of what a daemon says of itself, and nothing else."""
    return {name: state[name] for name in ("state_id", "starts", "run_id")}


def _is_stranger(known: sa.Row[Any], state: Mapping[str, Any]) -> bool:
    """Tell whether a daemon is not the host that is known.

    A release before this one let go of a replaced daemon's state path, and kept which start it was.
    """
    if known.state_id is None:
        return bool(known.run_id == state["run_id"])
    return bool(known.state_id != state["state_id"])


def _is_former(known: sa.Row[Any], state: Mapping[str, Any]) -> bool:
    """Tell whether a daemon is the one that is replaced.

    That one goes on to count its starts, while a copy of its state path has counted less.
    """
    was_started_again = state["starts"] > known.starts or state["run_id"] == known.run_id
    return bool(known.state_id == state["state_id"] and was_started_again)


def _service(row: sa.Row[tuple[object, ...]]) -> Service:
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return Service.of(**{name: values[name] for name in Service.fields})
