"""Builds under way: what a reschedule needs to know. A row lives as long as its build."""

import dataclasses
import datetime
import functools
from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from roost import states
from roost.db import wire
from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.types import utcnow
from roost.objects import RequestSpec, Selection, TriedHost

_builds = models.builds
_instances = models.instances
_AT_ONCE: Final = 1000  # rows that one statement names


@dataclasses.dataclass(frozen=True)
class BuildRow:
    """One build: the attempt under way and its host, what is left to try and what was tried."""

    instance_uuid: str
    attempt: int
    host: str
    spec: RequestSpec
    alternates: Sequence[Selection]
    tried: Sequence[TriedHost]

    def has_failed_on(self, host: str) -> bool:
        return _names(self.tried, host)


def create(session: Session, build: BuildRow) -> None:
    """Note a build; the same again changes nothing."""
    insert_once(session, _builds, _values(build))


def find(session: Session, instance_uuid: str) -> BuildRow | None:
    row = session.execute(
        sa.select(_builds).where(_builds.c.instance_uuid == instance_uuid)
    ).one_or_none()
    if row is None:
        return None
    return BuildRow(
        instance_uuid=row.instance_uuid,
        attempt=row.attempt,
        host=row.host,
        spec=wire.load(row.spec),
        alternates=wire.load_list(row.alternates),
        tried=wire.load_list(row.tried),
    )


def has_failed_on(session: Session, instance_uuid: str, host: str) -> bool:
    """Tell whether the instance was tried on this host before, and given back."""
    query = sa.select(_builds.c.tried).where(_builds.c.instance_uuid == instance_uuid)
    return _names(wire.load_list(session.execute(query).scalar_one_or_none() or "[]"), host)


def advance(session: Session, build: BuildRow, *, from_attempt: int) -> bool:
    """Replace the row, if it still is at that attempt; tell whether it was."""
    done = session.execute(
        sa.update(_builds)
        .where(_builds.c.instance_uuid == build.instance_uuid, _builds.c.attempt == from_attempt)
        .values(**_values(build))
    )
    return done.rowcount == 1


def lease_unbegun(session: Session, *, seconds: float) -> list[BuildRow]:
    """Return builds that their host should have begun by now, and give it as long again.

    A build is first noticed here, then given ``seconds``; so nothing is paid for those that begin
    in time.
    """
    now = utcnow()
    waiting = session.execute(
        sa.select(_builds.c.instance_uuid, _builds.c.lease_until)
        .join(_instances, _instances.c.uuid == _builds.c.instance_uuid)
        .where(
            _instances.c.task_state == states.SCHEDULING,
            _instances.c.deleted_at.is_(None),
            sa.or_(_builds.c.lease_until.is_(None), _builds.c.lease_until < now),
        )
        .limit(_AT_ONCE)
    ).all()
    if not waiting:
        return []
    session.execute(
        sa.update(_builds)
        .where(_builds.c.instance_uuid.in_([row.instance_uuid for row in waiting]))
        .values(lease_until=now + datetime.timedelta(seconds=seconds))
    )
    late = [row.instance_uuid for row in waiting if row.lease_until is not None]
    return [build for build in map(functools.partial(find, session), late) if build is not None]


def end(session: Session, instance_uuid: str) -> None:
    session.execute(sa.delete(_builds).where(_builds.c.instance_uuid == instance_uuid))


def _names(tried: Sequence[TriedHost], host: str) -> bool:
    return any(each.host == host for each in tried)


def _values(build: BuildRow) -> dict[str, object]:
    return {
        "instance_uuid": build.instance_uuid,
        "attempt": build.attempt,
        "host": build.host,
        "spec": wire.dump(build.spec),
        "alternates": wire.dump_list(build.alternates),
        "tried": wire.dump_list(build.tried),
        "lease_until": None,
    }
