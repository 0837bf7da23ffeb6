"""Cells, and which hosts belong to them."""

from typing import Any

import sqlalchemy as sa

from roost import exception
from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.objects import CellMapping, HostMapping

_cells = models.cell_mappings
_hosts = models.host_mappings


def list_cells(session: Session) -> list[CellMapping]:
    """Return all cells in order of their creation."""
    return [_mapping(row) for row in session.execute(sa.select(_cells).order_by(_cells.c.id))]


def get(session: Session, uuid: str) -> CellMapping:
    """Return a cell by uuid.

    :raises roost.exception.NotFound: when there is none
    """
    return _one(session, _cells.c.uuid == uuid, uuid)


def get_by_name(session: Session, name: str) -> CellMapping:
    """Return a cell by name.

    :raises roost.exception.NotFound: when there is none
    """
    return _one(session, _cells.c.name == name, name)


def create(session: Session, mapping: CellMapping) -> None:
    """Add a cell.

    :raises roost.exception.Conflict: when its name or uuid is taken
    """
    if not insert_once(session, _cells, mapping.values()):
        raise exception.Conflict(f"there is a cell {mapping.name!r} already")


def update(session: Session, uuid: str, **changes: Any) -> None:
    """Change name, transport_url, database_url or disabled."""
    session.execute(sa.update(_cells).where(_cells.c.uuid == uuid).values(**changes))


def delete(session: Session, uuid: str) -> None:
    """Delete a cell, its host mappings, and its mappings of deleted instances."""
    for table in (_hosts, models.deleted_mappings):
        session.execute(sa.delete(table).where(table.c.cell_uuid == uuid))
    session.execute(sa.delete(_cells).where(_cells.c.uuid == uuid))


def count_instances(session: Session, uuid: str) -> int:
    """Return how many instances are mapped to a cell."""
    mappings = models.instance_mappings
    query = sa.select(sa.func.count()).where(mappings.c.cell_uuid == uuid)
    return int(session.execute(query.select_from(mappings)).scalar_one())


def find_host(session: Session, host: str) -> HostMapping | None:
    """Return the mapping of a host to its cell, if there is one."""
    row = session.execute(sa.select(_hosts).where(_hosts.c.host == host)).one_or_none()
    return None if row is None else HostMapping.of(host=row.host, cell_uuid=row.cell_uuid)


def list_hosts(session: Session, cell_uuid: str | None = None) -> list[HostMapping]:
    """Return the mapped hosts, of one cell or all, by name."""
    query = sa.select(_hosts).order_by(_hosts.c.host)
    if cell_uuid is not None:
        query = query.where(_hosts.c.cell_uuid == cell_uuid)
    return [HostMapping.of(host=r.host, cell_uuid=r.cell_uuid) for r in session.execute(query)]


def map_host(session: Session, host: str, cell_uuid: str) -> bool:
    """Map a host to a cell; return whether it was not mapped before.

    :raises roost.exception.Conflict: when it is mapped to another cell
    """
    known = find_host(session, host)
    if known is None:
        return insert_once(session, _hosts, {"host": host, "cell_uuid": cell_uuid})
    if known.cell_uuid != cell_uuid:
        raise exception.Conflict(
            f"host {host} is mapped to cell {known.cell_uuid} already, and the name of a host must"
            " be unique over all cells: give this one another [DEFAULT] host"
        )
    return False


def unmap_host(session: Session, host: str) -> bool:
    """Delete the mapping of a host; return whether there was one."""
    return session.execute(sa.delete(_hosts).where(_hosts.c.host == host)).rowcount == 1


def _one(session: Session, condition: sa.ColumnElement[bool], said: str) -> CellMapping:
    row = session.execute(sa.select(_cells).where(condition)).one_or_none()
    if row is None:
        raise exception.NotFound(f"there is no cell {said!r}")
    return _mapping(row)


def _mapping(row: sa.Row[tuple[object, ...]]) -> CellMapping:
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return CellMapping.of(**{name: values[name] for name in CellMapping.fields})
