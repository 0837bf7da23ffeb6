"""Builds under way: the data that a reschedule needs. A row lives as long as its build."""

import dataclasses
from collections.abc import Sequence

import sqlalchemy as sa

from roost.db import wire
from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.objects import RequestSpec, Selection, TriedHost

_builds = models.builds


@dataclasses.dataclass(frozen=True)
class BuildRow:
    """One build: the current attempt and its selection, the alternates, and the tried hosts."""

    instance_uuid: str
    attempt: int
    host: str
    spec: RequestSpec
    selection: Selection
    alternates: Sequence[Selection]
    tried: Sequence[TriedHost]

    @property
    def times_begun_again(self) -> int:
        """How many attempts were repeats on the same host."""
        return self.attempt - 1 - len(self.tried)

    def has_failed_on(self, host: str) -> bool:
        return _names(self.tried, host)


def create(session: Session, build: BuildRow) -> None:
    """Record a build; the same again changes nothing."""
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
        selection=wire.load(row.selection),
        alternates=wire.load_list(row.alternates),
        tried=wire.load_list(row.tried),
    )


def awaits(session: Session, instance_uuid: str, *, host: str, selection: Selection | None) -> bool:
    """Return whether a host is to build the instance: it is not among the tried hosts.

    :param selection: the selection that the host received, which must be the build's current one;
        None: the host received none
    """
    row = session.execute(
        sa.select(_builds.c.tried, _builds.c.selection).where(
            _builds.c.instance_uuid == instance_uuid
        )
    ).one_or_none()
    if row is None:
        return True
    is_current = selection is None or wire.load(row.selection) == selection
    return is_current and not _names(wire.load_list(row.tried), host)


def advance(session: Session, build: BuildRow, *, from_attempt: int) -> bool:
    """Replace the row, if it still is at that attempt; return whether it was."""
    done = session.execute(
        sa.update(_builds)
        .where(_builds.c.instance_uuid == build.instance_uuid, _builds.c.attempt == from_attempt)
        .values(**_values(build))
    )
    return done.rowcount == 1


def put(session: Session, instance_uuid: str, selection: Selection) -> None:
    """Record the selection of a build."""
    session.execute(
        sa.update(_builds)
        .where(_builds.c.instance_uuid == instance_uuid)
        .values(selection=wire.dump(selection))
    )


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
        "selection": wire.dump(build.selection),
        "alternates": wire.dump_list(build.alternates),
        "tried": wire.dump_list(build.tried),
    }
