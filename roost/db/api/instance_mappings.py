"""Mappings of instances to cells, with what each counts against its project's quota.

Mappings of deleted instances are kept until their cells purge them, in a table of their own: so
queries of live instances cost the same however many servers were ever deleted. Page markers in
lists of deleted servers need them, and so do the actions of a deleted server.
"""

import datetime
from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception

from roost import exception
from roost.db import clock, prepared
from roost.db.api import (
    build_requests,
    console_tokens,
    models,
    networks,
    ports,
    quota,
    security_groups,
    server_groups,
)
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.types import database_now
from roost.objects import InstanceMapping, RequestSpec
from roost.objects.request import DIFFERENT_HOST, SAME_HOST

_mappings = models.instance_mappings
_deleted = models.deleted_mappings
_OF_INSTANCE = sa.select(_mappings).where(
    _mappings.c.instance_uuid == sa.bindparam("instance_uuid")
)
_NOW = database_now()
_INSERT_DELETED = sa.insert(_deleted)
_AS_READ = ("instance_uuid", "queued_for_delete", "put_away_at", "operation_uuid")
_KEPT = ("instance_uuid", "request_uuid", "cell_uuid", "project_id", "user_id", "created_at")


def _keep(session: Session, mappings: Sequence[InstanceMapping]) -> None:
    """Record instances whose mappings this transaction deletes."""
    rows = [{name: getattr(mapping, name) for name in _KEPT} for mapping in mappings]
    if len(rows) == 1:
        insert_once(session, _deleted, {**rows[0], "deleted_at": _NOW})
    elif rows:  # in one statement, which has no room for an expression
        now = clock.now(session)
        session.execute(_INSERT_DELETED, [{**row, "deleted_at": now} for row in rows])


def find_deleted(session: Session, instance_uuid: str) -> InstanceMapping | None:
    """Return the mapping of a deleted instance; it counts against no quota."""
    query = sa.select(_deleted).where(_deleted.c.instance_uuid == instance_uuid)
    row = session.execute(query).one_or_none()
    if row is None:
        return None
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    kept = {name: values[name] for name in _KEPT}
    return InstanceMapping.of(**kept, queued_for_delete=True, vcpus=0, memory_mb=0)


def list_older_than(
    session: Session, age: datetime.timedelta, *, cell_uuid: str, skip: int, limit: int
) -> list[str]:
    """Return the instances of a cell deleted at least ``age`` ago, the oldest first.

    :param skip: how many of the oldest are left out
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


def forget_deleted(session: Session, instance_uuids: Sequence[str]) -> None:
    """Delete the records of these deleted instances."""
    session.execute(sa.delete(_deleted).where(_deleted.c.instance_uuid.in_(instance_uuids)))


_FIELDS = tuple(InstanceMapping.fields)


def find(session: Session, instance_uuid: str) -> InstanceMapping | None:
    row = session.execute(_OF_INSTANCE, {"instance_uuid": instance_uuid}).one_or_none()
    return None if row is None else row_to_mapping(row)


def hold(session: Session, instance_uuid: str) -> None:
    """Lock a mapping until the transaction ends.

    :raises roost.exception.NotFound: when there is none
    """
    mine = {"instance_uuid": instance_uuid}
    if prepared.select(session, _mappings.c.id, where=mine, lock=True).first() is None:
        raise exception.NotFound(f"Instance {instance_uuid} could not be found.")


def spec_for_now(session: Session, instance_uuid: str) -> RequestSpec:
    """Return the request spec of an instance, without what has gone since it was stored.

    That is its server group, and servers that hints name.

    :raises roost.exception.NotFound: when there is no such instance
    """
    spec = build_requests.spec_of(session, instance_uuid)
    if spec is None:
        raise exception.NotFound(f"Instance {instance_uuid} could not be found.")
    if spec.group is not None and not server_groups.exists(session, spec.group.uuid):
        spec.group = None
    named = {name: spec.hints[name] for name in (SAME_HOST, DIFFERENT_HOST) if name in spec.hints}
    there = projects_of(session, {uuid for uuids in named.values() for uuid in uuids})
    for name, uuids in named.items():
        left = [uuid for uuid in uuids if uuid in there]
        others = {key: value for key, value in spec.hints.items() if key != name}
        spec.hints = {**others, name: left} if left else others
    return spec


def cells_of(session: Session, uuids: Collection[str]) -> dict[str, str | None]:
    """Return the cells of those of these instances that exist; None: no cell yet."""
    rows = session.execute(
        sa.select(_mappings.c.instance_uuid, _mappings.c.cell_uuid).where(
            _mappings.c.instance_uuid.in_(uuids), _mappings.c.queued_for_delete.is_(False)
        )
    )
    return {row.instance_uuid: row.cell_uuid for row in rows}


def cells_of_project(session: Session, project_id: str) -> set[str | None]:
    """Return the cells of a project's servers, also of those being deleted; None: no cell yet."""
    mine = sa.select(_mappings.c.cell_uuid).where(_mappings.c.project_id == project_id)
    return {*session.scalars(mine.distinct())}


def projects_of(session: Session, uuids: Collection[str]) -> dict[str, str]:
    """Return the projects of those of these instances that exist."""
    rows = session.execute(
        sa.select(_mappings.c.instance_uuid, _mappings.c.project_id).where(
            _mappings.c.instance_uuid.in_(uuids), _mappings.c.queued_for_delete.is_(False)
        )
    )
    return {row.instance_uuid: row.project_id for row in rows}


def of_user(session: Session, project_id: str, user_id: str) -> set[str]:
    """Return the instances that a user has in a project, also those being deleted."""
    theirs = (_mappings.c.project_id == project_id, _mappings.c.user_id == user_id)
    return {*session.scalars(sa.select(_mappings.c.instance_uuid).where(*theirs))}


def leaving(session: Session, uuids: Collection[str]) -> dict[str, str]:
    """Return the cells of those of these instances that are queued for delete."""
    rows = session.execute(
        sa.select(_mappings.c.instance_uuid, _mappings.c.cell_uuid).where(
            _mappings.c.instance_uuid.in_(uuids),
            _mappings.c.queued_for_delete.is_(True),
            _mappings.c.cell_uuid.is_not(None),
        )
    )
    return {row.instance_uuid: row.cell_uuid for row in rows}


def get(session: Session, instance_uuid: str) -> InstanceMapping:
    """Return the mapping.

    :raises roost.exception.NotFound: when there is none
    """
    found = find(session, instance_uuid)
    if found is None:
        raise exception.NotFound(f"Instance {instance_uuid} could not be found.")
    return found


def map_to_cell(session: Session, instance_uuids: Collection[str], cell_uuid: str) -> None:
    """Map instances to their cell."""
    prepared.update(session, _mappings, {"instance_uuid": instance_uuids}, {"cell_uuid": cell_uuid})


def as_read(mapping: InstanceMapping) -> dict[str, Any]:
    """Return what columns have while an instance was not deleted or restored since, in any way."""
    return {name: getattr(mapping, name) for name in _AS_READ}


def queue_for_delete(
    session: Session, instance_uuid: str, *, as_it_was: InstanceMapping | None = None
) -> InstanceMapping | None:
    """Mark the instance as deleted by its user, once: it counts against no quota from here on.

    :param as_it_was: it must not have been deleted, restored or resized since it was read
    :returns: the mapping, or None when another call did it before, or it is not so
    """
    before = {} if as_it_was is None else as_read(as_it_was) | _amounts(as_it_was)
    before |= {"instance_uuid": instance_uuid, "queued_for_delete": False}
    if prepared.update(session, _mappings, before, {"queued_for_delete": True}) != 1:
        return None
    mapping = as_it_was or get(session, instance_uuid)
    _let_go(session, mapping)
    return mapping


def withdraw(session: Session, instance_uuid: str) -> bool:
    """Delete a build request with its mapping and quota, as if it had never been accepted.

    If it has a target cell, its instance is queued for delete there: so nothing stays behind, even
    if that cell is unavailable now and the super-conductor that worked on it has died. The instance
    is shown to nobody meanwhile, as it does not exist any more for its user.

    :returns: False when there is no build request: the instance is in a cell, or deleted
    """
    done, cell_uuid = build_requests.take_away(session, instance_uuid)
    if cell_uuid is not None:
        itself = sa.update(_mappings).where(_mappings.c.instance_uuid == instance_uuid)
        session.execute(itself.values(cell_uuid=cell_uuid, withdrawn=True))
        queue_for_delete(session, instance_uuid)
    elif done:
        forget(session, instance_uuid)
    return done


def withdrawn(session: Session, uuids: Collection[str]) -> set[str]:
    """Return those of these instances that were withdrawn."""
    c = _mappings.c
    return {
        *session.scalars(
            sa.select(c.instance_uuid).where(c.instance_uuid.in_(uuids), c.withdrawn.is_(True))
        )
    }


def forget(session: Session, instance_uuid: str) -> InstanceMapping | None:
    """Delete the mapping, and with the last mapping of a request its spec.

    Quota that it still counts against is released. If it was queued for delete in a cell, a record
    of it is kept.

    :returns: the mapping that was deleted, None when there was none
    """
    mapping = find(session, instance_uuid)
    if mapping is None:
        return None
    build_requests.hold_specs(session, [mapping.request_uuid])
    if prepared.delete(session, _mappings, as_read(mapping)) != 1:
        return None
    _forget_rest(session, [mapping])
    if not mapping.queued_for_delete:
        _let_go(session, mapping)
    return mapping


def forget_queued(session: Session, mappings: Sequence[InstanceMapping]) -> None:
    """Delete mappings that are queued for delete, as :func:`forget` does, all together.

    :raises roost.exception.Conflict: when one is deleted already; roll back then
    """
    theirs = {"instance_uuid": [each.instance_uuid for each in mappings], "queued_for_delete": True}
    build_requests.hold_specs(session, {mapping.request_uuid for mapping in mappings})
    if prepared.delete(session, _mappings, theirs) != len(mappings):
        raise exception.Conflict("some are deleted already")
    try:
        _forget_rest(session, mappings)
    except db_exception.DBDuplicateEntry as error:
        raise exception.Conflict("some have a record already") from error


def _forget_rest(session: Session, mappings: Sequence[InstanceMapping]) -> None:
    """Delete what only the mappings just deleted had, and keep records of servers of cells."""
    uuids = [mapping.instance_uuid for mapping in mappings]
    build_requests.forget_specs(session, {mapping.request_uuid for mapping in mappings})
    networks.release(session, uuids)
    ports.release(session, uuids)
    security_groups.release(session, uuids)
    _keep(session, [one for one in mappings if one.queued_for_delete and one.cell_uuid is not None])


def list_queued(
    session: Session, *, marker: int = 0, limit: int = 1000, but_not_in: Collection[str] = ()
) -> list[tuple[int, InstanceMapping]]:
    """Return (row id, mapping) of mappings that wait for their cell to delete the instance.

    :param but_not_in: cells whose instances are left out
    """
    rows = session.execute(
        sa.select(_mappings)
        .where(_mappings.c.queued_for_delete.is_(True), _mappings.c.id > marker)
        .where(_mappings.c.cell_uuid.not_in(but_not_in))
        .order_by(_mappings.c.id)
        .limit(limit)
    )
    return [(row.id, row_to_mapping(row)) for row in rows]


def list_in_cells(
    session: Session,
    cell_uuids: Collection[str],
    *,
    project_ids: Collection[str] | None,
    limit: int,
) -> list[InstanceMapping]:
    """Return instances mapped to some cells, neither deleted nor soft-deleted, the newest first.

    :param project_ids: of these projects; None: of all
    """
    c = _mappings.c
    lives = (c.queued_for_delete.is_(False), c.put_away_at.is_(None))
    query = sa.select(_mappings).where(c.cell_uuid.in_(cell_uuids), *lives)
    if project_ids is not None:
        query = query.where(c.project_id.in_(project_ids))
    order = (c.created_at.desc(), c.instance_uuid.desc())
    return [row_to_mapping(row) for row in session.execute(query.order_by(*order).limit(limit))]


def row_to_mapping(row: sa.Row[tuple[object, ...]]) -> InstanceMapping:
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return InstanceMapping.as_stored(**{name: values[name] for name in _FIELDS})


def charge(mapping: InstanceMapping) -> dict[str, Any]:
    """Return an instance's project and amounts, as arguments of ``db/api/quota.py``."""
    return {
        "project_id": mapping.project_id,
        "instances": 1,
        "cores": mapping.vcpus,
        "ram": mapping.memory_mb,
    }


def _amounts(mapping: InstanceMapping) -> dict[str, Any]:
    return {"vcpus": mapping.vcpus, "memory_mb": mapping.memory_mb}


def _let_go(session: Session, mapping: InstanceMapping) -> None:
    """Release the quota, server group and console tokens of an instance.

    A soft-deleted instance counts against no quota already.
    """
    console_tokens.release(session, mapping.instance_uuid)
    if mapping.put_away_at is None:
        quota.give_back(session, **charge(mapping))
    server_groups.leave(session, mapping.instance_uuid)
