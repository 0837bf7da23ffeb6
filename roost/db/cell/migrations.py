"""Migrations of instances between hosts and flavors; times are by the clock of the database.

A list is in one order over all cells: the newest first, then by uuid.
"""

import dataclasses
import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost import exception, states
from roost.db import clock, ordering, prepared, wire
from roost.db.cell import instances, left_behind, models
from roost.db.cell.left_behind import OLD_COPY
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.ordering import Sort
from roost.db.types import database_now
from roost.objects import Flavor, Instance, Migration
from roost.objects.migration import COPYING, ENDED, FINISHED
from roost.operations.steps import DESTINATION, SOURCE

NEWEST_FIRST: Final = (Sort("created_at", descending=True), Sort("uuid", descending=True))
_table = models.migrations
_c = _table.c
_FLAVORS: Final = ("old_flavor", "new_flavor")
_RESOURCES: Final = ("source_resources", "dest_resources")
_SET_HERE: Final = ("id", "created_at", "updated_at")
_IS_UNFINISHED: Final = sa.and_(*(_c.status != status for status in ENDED))
_UNFINISHED: Final = (
    sa.select(_table)
    .where(_c.instance_uuid == sa.bindparam("instance_uuid"), _IS_UNFINISHED)
    .order_by(_c.id.desc())
    .limit(1)
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MigrationFilter:
    """What a list is limited to.

    :param equal: column -> the value that it has
    :param host: the source or the destination
    :param changed_since: with ``changed_before``: when the last change was, these times included
    """

    equal: Mapping[str, str] = dataclasses.field(default_factory=dict)
    host: str | None = None
    changed_since: datetime.datetime | None = None
    changed_before: datetime.datetime | None = None


def create(session: Session, migration: Migration) -> None:
    """Record a migration; the same uuid again changes nothing."""
    values = _as_row({name: getattr(migration, name) for name in Migration.fields})
    for name in _SET_HERE:
        del values[name]
    insert_once(session, _table, {**values, "created_at": database_now()})


def unfinished(session: Session, instance_uuid: str) -> Migration | None:
    """Return the migration by which an instance is on two hosts."""
    row = session.execute(_UNFINISHED, {"instance_uuid": instance_uuid}).first()
    return None if row is None else _as_migration(row)


def destinations_of_unconfirmed(session: Session) -> set[str]:
    """Return the hosts to which instances have moved that wait for their users."""
    waits = _c.status == FINISHED
    return {*session.scalars(sa.select(_c.dest_host).where(waits).distinct())}


def list_unconfirmed(
    session: Session,
    *,
    seconds: float,
    but_not_on: Collection[str],
    limit: int = 100,
) -> list[Migration]:
    """Return the migrations that have waited so long for their users, the oldest first.

    Those without a guest on their destination are left out: they can be reverted only. So are those
    that have waited for longer than ``OLD_COPY`` on top.

    :param but_not_on: hosts that must not be the destination
    """
    now, instance = clock.now(session), models.instances.c
    before = now - datetime.timedelta(seconds=seconds)
    waits = (_c.status == FINISHED, _c.updated_at.between(before - OLD_COPY, before))
    rows = session.execute(
        sa.select(_table)
        .join(models.instances, instance.uuid == _c.instance_uuid)
        .where(*waits, instance.power_state != states.NOSTATE, instance.task_state.is_(None))
        .where(_c.dest_host.not_in(but_not_on))
        .order_by(_c.updated_at)
        .limit(limit)
    )
    return [_as_migration(row) for row in rows]


def flavors_after(session: Session, uuids: Collection[str]) -> dict[str, Flavor]:
    """Return the flavors that servers have after those of these migrations that are over."""
    instance = models.instances.c
    rows = session.execute(
        sa.select(_c.uuid, instance.flavor)
        .join(models.instances, instance.uuid == _c.instance_uuid)
        .where(_c.uuid.in_(uuids), _c.status.in_(ENDED))
    )
    return {row.uuid: wire.load_shared(row.flavor) for row in rows}


def known(session: Session, uuids: Collection[str]) -> set[str]:
    """Return those of these migrations that there are."""
    return {*session.scalars(sa.select(_c.uuid).where(_c.uuid.in_(uuids)))}


def update(
    session: Session, uuid: str, changes: Mapping[str, Any], *, expected: Sequence[str]
) -> None:
    """Change a migration.

    :param expected: the statuses that it may have
    :raises roost.exception.Conflict: when it has another one, or does not exist
    """
    values = {**_as_row(changes), "updated_at": database_now()}
    if prepared.update(session, _table, {"uuid": uuid, "status": expected}, values) == 0:
        raise exception.Conflict(f"The migration {uuid} is not {' or '.join(expected)}.")


def note_copied(session: Session, instance_uuid: str, copied: Mapping[str, int]) -> None:
    """Note how many bytes of disks are copied, by column, in the migration that is under way."""
    mine = (_c.instance_uuid == instance_uuid, _c.status.in_(COPYING))
    values = {**copied, "updated_at": database_now()}
    session.execute(sa.update(_table).where(*mine).values(values))


def progress(session: Session, instance_uuids: Collection[str]) -> dict[str, int]:
    """Return how much of the disks is copied, in per cent, of instances that migrate."""
    total, processed = _c.disk_total_bytes, _c.disk_processed_bytes
    rows = session.execute(
        sa.select(_c.instance_uuid, total, processed).where(
            _c.instance_uuid.in_(instance_uuids), _c.status.in_(COPYING), total > 0
        )
    )
    return {row.instance_uuid: 100 * row[2] // row[1] for row in rows}


def end(session: Session, instance_uuid: str, *, status: str, stays_on: str | None) -> str | None:
    """End the migration of an instance that has one; return the host with what it leaves behind.

    That host is noted as one that may have a guest of the instance.

    :param stays_on: the host of the instance's row
    """
    found = unfinished(session, instance_uuid)
    if found is None:
        return None
    update(session, found.uuid, {"status": status}, expected=[found.status])
    if found.stays_on_host:
        return None
    left = found.host_at(DESTINATION if stays_on == found.source_host else SOURCE)
    left_behind.note(session, instance_uuid, left)
    return left


def on_host(
    session: Session, host: str, instance_uuids: Collection[str] | None = None
) -> dict[str, Migration]:
    """Return the unfinished migrations from and to a host, by instance.

    :param instance_uuids: only those of these; None: all
    """
    here = [sa.or_(_c.source_host == host, _c.dest_host == host), _IS_UNFINISHED]
    if instance_uuids is not None:
        here.append(_c.instance_uuid.in_(instance_uuids))
    rows = session.execute(sa.select(_table).where(*here))
    return {row.instance_uuid: _as_migration(row) for row in rows}


def list_elsewhere(
    session: Session, host: str, instance_uuids: Collection[str] | None = None
) -> list[Instance]:
    """Return the instances that move from or to a host, and whose rows name the other one.

    Each has the flavor and the resources that it has on this host.

    :param instance_uuids: only those of these; None: all
    """
    moving, found = on_host(session, host, instance_uuids), []
    for instance in instances.list_live(session, moving) if moving else ():
        if instance.host != host:
            migration = moving[instance.uuid]
            side = SOURCE if migration.source_host == host else DESTINATION
            found.append(migration.instance_at(side, instance))
    return found


def position(session: Session, uuid: str) -> list[Any] | None:
    """Return the position of a migration in the order of lists; None: there is none."""
    row = session.execute(sa.select(_c.created_at, _c.uuid).where(_c.uuid == uuid)).one_or_none()
    return None if row is None else list(row)


def list_page(
    session: Session, wanted: MigrationFilter, *, after: Sequence[Any] | None, limit: int
) -> list[Migration]:
    """Return migrations, the newest first.

    :param after: only those after this position
    """
    keys = [
        ordering.Key(ordering.binary(session, _c[sort.name]), sort.descending, nullable=False)
        for sort in NEWEST_FIRST
    ]
    where = [_c[name] == value for name, value in wanted.equal.items()]
    changed_at = sa.func.coalesce(_c.updated_at, _c.created_at)
    if wanted.host is not None:
        where.append(sa.or_(_c.source_host == wanted.host, _c.dest_host == wanted.host))
    if wanted.changed_since is not None:
        where.append(changed_at >= wanted.changed_since)
    if wanted.changed_before is not None:
        where.append(changed_at <= wanted.changed_before)
    if after is not None:
        where.append(ordering.after(keys, after))
    order = [part for key in keys for part in key.order_by()]
    rows = session.execute(sa.select(_table).where(*where).order_by(*order).limit(limit))
    return [_as_migration(row) for row in rows]


def _as_row(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: wire.dump(value) if name in _FLAVORS + _RESOURCES else value
        for name, value in values.items()
    }


def _as_migration(row: sa.Row[Any]) -> Migration:
    values = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name
    flavors = {name: wire.load_shared(values[name]) for name in _FLAVORS}
    resources = {name: wire.load(values[name]) for name in _RESOURCES}
    return Migration.of(**values | flavors | resources)
