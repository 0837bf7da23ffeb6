"""Builds under way: what a reschedule needs to know. A row lives as long as its build."""

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
    """One build: the attempt under way and its place, what is left to try and what was tried."""

    instance_uuid: str
    attempt: int
    host: str
    spec: RequestSpec
    selection: Selection
    alternates: Sequence[Selection]
    tried: Sequence[TriedHost]

    @property
    def times_begun_again(self) -> int:
        """How many attempts were not the first one on their host."""
        return self.attempt - 1 - len(self.tried)

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
        selection=wire.load(row.selection),
        alternates=wire.load_list(row.alternates),
        tried=wire.load_list(row.tried),
    )


def awaits(session: Session, instance_uuid: str, *, host: str, selection: Selection | None) -> bool:
    """Tell whether a host is to build the instance: it has not given it back before.

    :param selection: the place that the host was told of, which must be the one that the build has
        by now; None: it was not told of any
    """
    row = session.execute(
        sa.select(_builds.c.tried, _builds.c.selection).where(
            _builds.c.instance_uuid == instance_uuid
        )
    ).one_or_none()
    if row is None:
        return True
    told_so = selection is None or wire.load(row.selection) == selection
    return told_so and not _names(wire.load_list(row.tried), host)


def advance(session: Session, build: BuildRow, *, from_attempt: int) -> bool:
    """Replace the row, if it still is at that attempt; tell whether it was."""
    done = session.execute(
        sa.update(_builds)
        .where(_builds.c.instance_uuid == build.instance_uuid, _builds.c.attempt == from_attempt)
        .values(**_values(build))
    )
    return done.rowcount == 1


def put(session: Session, instance_uuid: str, selection: Selection) -> None:
    """Note the place that a build has on its host."""
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
