"""Which cell each instance is in, and what it counts against its project's quota."""

import sqlalchemy as sa

from roost import exception
from roost.db.api import build_requests, models, quota
from roost.db.engine import Session
from roost.objects import InstanceMapping

_mappings = models.instance_mappings
_FIELDS = tuple(InstanceMapping.fields)


def find(session: Session, instance_uuid: str) -> InstanceMapping | None:
    row = session.execute(
        sa.select(_mappings).where(_mappings.c.instance_uuid == instance_uuid)
    ).one_or_none()
    return None if row is None else row_to_mapping(row)


def get(session: Session, instance_uuid: str) -> InstanceMapping:
    """Return the mapping.

    :raises roost.exception.NotFound: when there is none
    """
    found = find(session, instance_uuid)
    if found is None:
        raise exception.NotFound(f"Instance {instance_uuid} could not be found.")
    return found


def place(session: Session, instance_uuid: str, cell_uuid: str) -> None:
    """Point the instance to its cell."""
    session.execute(
        sa.update(_mappings)
        .where(_mappings.c.instance_uuid == instance_uuid)
        .values(cell_uuid=cell_uuid)
    )


def queue_for_delete(session: Session, instance_uuid: str) -> InstanceMapping | None:
    """Let its user be rid of the instance, once: it counts against no quota from here on.

    :returns: the mapping, or None when somebody was here before
    """
    changed = session.execute(
        sa.update(_mappings)
        .where(_mappings.c.instance_uuid == instance_uuid, _mappings.c.queued_for_delete.is_(False))
        .values(queued_for_delete=True)
    )
    if changed.rowcount != 1:
        return None
    mapping = get(session, instance_uuid)
    _uncount(session, mapping)
    return mapping


def withdraw(session: Session, instance_uuid: str) -> bool:
    """Take back a wish that is still one: request, mapping and quota, as if never made.

    :returns: False when it is no wish any more: then it is in a cell, or gone
    """
    if not build_requests.forget(session, instance_uuid):
        return False
    forget(session, instance_uuid)
    return True


def forget(session: Session, instance_uuid: str) -> InstanceMapping | None:
    """Delete the mapping; what it still counted is given back.

    :returns: the mapping that was deleted, None when there was none
    """
    mapping = find(session, instance_uuid)
    gone = session.execute(
        sa.delete(_mappings).where(
            _mappings.c.instance_uuid == instance_uuid,
            _mappings.c.queued_for_delete.is_(bool(mapping and mapping.queued_for_delete)),
        )
    )
    if mapping is None or gone.rowcount != 1:
        return None
    if not mapping.queued_for_delete:
        _uncount(session, mapping)
    return mapping


def list_queued(
    session: Session, *, marker: int = 0, limit: int = 1000
) -> list[tuple[int, InstanceMapping]]:
    """Return mappings that wait for their cell to bury the instance, each with its place."""
    rows = session.execute(
        sa.select(_mappings)
        .where(_mappings.c.queued_for_delete.is_(True), _mappings.c.id > marker)
        .order_by(_mappings.c.id)
        .limit(limit)
    )
    return [(row.id, row_to_mapping(row)) for row in rows]


def list_all(
    session: Session, *, marker: int = 0, limit: int = 1000
) -> list[tuple[int, InstanceMapping]]:
    """Return all mappings by pages, each with its place, for audits."""
    rows = session.execute(
        sa.select(_mappings).where(_mappings.c.id > marker).order_by(_mappings.c.id).limit(limit)
    )
    return [(row.id, row_to_mapping(row)) for row in rows]


def row_to_mapping(row: sa.Row[tuple[object, ...]]) -> InstanceMapping:
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return InstanceMapping.of(**{name: values[name] for name in _FIELDS})


def _uncount(session: Session, mapping: InstanceMapping) -> None:
    quota.give_back(
        session,
        project_id=mapping.project_id,
        instances=1,
        cores=mapping.vcpus,
        ram=mapping.memory_mb,
    )
