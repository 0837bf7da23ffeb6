"""Flavors, their extra specs, and which projects may use those that are not public."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from roost import exception
from roost.db import ordering
from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.db.types import database_now
from roost.objects import Flavor

_flavors = models.flavors
_access = models.flavor_projects


def list_projects(session: Session, flavorid: str) -> list[str]:
    """Return the projects that were given access, in order."""
    query = sa.select(_access.c.project_id).where(_access.c.flavor_id == _row_id(session, flavorid))
    return sorted(session.scalars(query))


def has(session: Session, flavorid: str, project_id: str) -> bool:
    """Return whether a project has access; False for a flavor that does not exist."""
    query = sa.select(_access.c.project_id).join(_flavors)
    mine = (_flavors.c.flavorid == flavorid, _access.c.project_id == project_id)
    return session.execute(query.where(*mine)).first() is not None


def add(session: Session, flavorid: str, project_id: str) -> None:
    """Give a project access.

    :raises roost.exception.NotFound: when there is no such flavor
    :raises roost.exception.Conflict: when it has access already
    """
    row = {"flavor_id": _row_id(session, flavorid), "project_id": project_id}
    if not insert_once(session, _access, row):
        raise exception.Conflict(
            f"Flavor access already exists for flavor {flavorid} and project {project_id}"
            " combination."
        )


def remove(session: Session, flavorid: str, project_id: str) -> None:
    """Revoke a project's access.

    :raises roost.exception.NotFound: when there is no such flavor, or the project has no access
    """
    mine = (
        _access.c.flavor_id == _row_id(session, flavorid),
        _access.c.project_id == project_id,
    )
    if session.execute(sa.delete(_access).where(*mine)).rowcount != 1:
        raise exception.NotFound(
            f"Flavor access not found for {flavorid} / {project_id} combination."
        )


def granted(project_id: str) -> sa.ColumnElement[bool]:
    """Return the condition for flavors to which a project has access."""
    return _flavors.c.id.in_(
        sa.select(_access.c.flavor_id).where(_access.c.project_id == project_id)
    )


_specs = models.flavor_extra_specs
_PLAIN = tuple(name for name in Flavor.fields if name != "extra_specs")
VCPU_WEIGHT = "vcpu_weight"  # which no flavor has: they are all alike
SORT_KEYS = (
    "flavorid",
    "name",
    "memory_mb",
    "root_gb",
    "ephemeral_gb",
    "swap",
    "vcpus",
    VCPU_WEIGHT,
    "rxtx_factor",
    "is_public",
    "disabled",
    "description",
    "created_at",
    "updated_at",
    "id",
)
_WITH_SPECS = sa.select(_flavors, _specs.c.key, _specs.c.value).outerjoin(
    _specs, _specs.c.flavor_id == _flavors.c.id
)
_BY_ID = _WITH_SPECS.where(_flavors.c.flavorid == sa.bindparam("said"))
_BY_NAME = _WITH_SPECS.where(_flavors.c.name == sa.bindparam("said"))
_SPECS = sa.select(_specs).where(_specs.c.flavor_id.in_(sa.bindparam("ids", expanding=True)))


def create(session: Session, flavor: Flavor) -> Flavor:
    """Add a flavor with its extra specs.

    :raises roost.exception.Conflict: when its name or flavorid is taken
    """
    values = {name: getattr(flavor, name) for name in _PLAIN}
    if not insert_once(session, _flavors, {**values, "created_at": database_now()}):
        raise exception.Conflict(_taken(session, flavor))
    _insert_specs(session, _row_id(session, flavor.flavorid), flavor.extra_specs)
    return flavor


def get(session: Session, flavorid: str) -> Flavor:
    """Return a flavor by the id that users know.

    :raises roost.exception.NotFound: when there is none
    """
    return _one(session, _BY_ID, flavorid)


def get_by_name(session: Session, name: str) -> Flavor:
    """Return a flavor by name.

    :raises roost.exception.NotFound: when there is none
    """
    return _one(session, _BY_NAME, name)


def list_flavors(
    session: Session,
    *,
    is_public: bool | None = True,
    granted_to: str | None = None,
    min_ram: int | None = None,
    min_disk: int | None = None,
    name: str | None = None,
    sort_key: str = "flavorid",
    sort_dir: str = "asc",
    marker: str | None = None,
    limit: int | None = None,
) -> list[Flavor]:
    """Return a page of flavors, in order.

    :param is_public: None: whether public or not
    :param granted_to: with the public ones, those that this project was given access to
    :param min_ram: MiB of memory at least
    :param min_disk: GiB of root disk at least
    :param name: exactly this one
    :param sort_key: one of :data:`SORT_KEYS`; equal ones follow in order of their creation
    :param marker: the flavorid of the last one of the page before
    :raises roost.exception.NotFound: when there is no flavor ``marker``
    """
    query = sa.select(_flavors)
    if is_public is not None:
        query = query.where(_wanted(is_public, granted_to))
    if min_ram is not None:
        query = query.where(_flavors.c.memory_mb >= min_ram)
    if min_disk is not None:
        query = query.where(_flavors.c.root_gb >= min_disk)
    if name is not None:
        query = query.where(_flavors.c.name == name)
    order = (_sortable(session, sort_key), _flavors.c.id)
    if marker is not None:
        query = query.where(_after(session, order, marker, sort_dir=sort_dir))
    directed = [key.desc() if sort_dir == "desc" else key.asc() for key in order]
    rows = session.execute(query.order_by(*directed).limit(limit)).all()
    return _with_specs(session, rows)


def row_ids(session: Session, flavorids: Collection[str]) -> dict[str, int]:
    """Return the number of each of these flavors that exists, by its flavorid."""
    c = _flavors.c
    rows = session.execute(sa.select(c.flavorid, c.id).where(c.flavorid.in_(flavorids)))
    return {row.flavorid: row.id for row in rows}


def delete(session: Session, flavorid: str) -> None:
    """Delete a flavor; instances keep their copy of it.

    :raises roost.exception.NotFound: when there is none
    """
    row_id = _row_id(session, flavorid)
    for table in (_specs, models.flavor_projects):
        session.execute(sa.delete(table).where(table.c.flavor_id == row_id))
    session.execute(sa.delete(_flavors).where(_flavors.c.id == row_id))


def update_description(session: Session, flavorid: str, description: str | None) -> None:
    """Change the description of a flavor.

    :raises roost.exception.NotFound: when there is none
    """
    done = session.execute(
        sa.update(_flavors)
        .where(_flavors.c.flavorid == flavorid)
        .values(description=description, updated_at=database_now())
    )
    if done.rowcount != 1:
        raise _missing(flavorid)


def set_extra_specs(session: Session, flavorid: str, specs: Mapping[str, str]) -> None:
    """Add extra specs, or change those that there are; others stay.

    :raises roost.exception.NotFound: when there is no such flavor
    """
    row_id = _row_id(session, flavorid)
    session.execute(
        sa.delete(_specs).where(_specs.c.flavor_id == row_id, _specs.c.key.in_(list(specs)))
    )
    _insert_specs(session, row_id, specs)


def delete_extra_spec(session: Session, flavorid: str, key: str) -> None:
    """Delete one extra spec.

    :raises roost.exception.NotFound: when there is no such flavor, or it has none of this key
    """
    row_id = _row_id(session, flavorid)
    gone = session.execute(
        sa.delete(_specs).where(_specs.c.flavor_id == row_id, _specs.c.key == key)
    )
    if gone.rowcount != 1:
        raise exception.NotFound(f"Flavor {flavorid} has no extra specs with key {key}.")


def _one(session: Session, query: sa.Select[Any], said: str) -> Flavor:
    rows = session.execute(query, {"said": said}).all()
    if not rows:
        raise _missing(said)
    return _flavor(rows[0], {row.key: row.value for row in rows if row.key is not None})


def _with_specs(session: Session, rows: Sequence[sa.Row[Any]]) -> list[Flavor]:
    specs: dict[int, dict[str, str]] = {row.id: {} for row in rows}
    if rows:
        found = session.execute(_SPECS, {"ids": list(specs)})
        for spec in found:
            specs[spec.flavor_id][spec.key] = spec.value
    return [_flavor(row, specs[row.id]) for row in rows]


def _flavor(row: sa.Row[Any], specs: dict[str, str]) -> Flavor:
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return Flavor.of(extra_specs=specs, **{name: values[name] for name in _PLAIN})


def _wanted(is_public: bool, granted_to: str | None) -> sa.ColumnElement[bool]:
    as_asked = _flavors.c.is_public.is_(is_public)
    if not is_public or granted_to is None:
        return as_asked
    return sa.or_(as_asked, granted(granted_to))


def _sortable(session: Session, sort_key: str) -> sa.ColumnElement[Any]:
    column = _flavors.c["id" if sort_key == VCPU_WEIGHT else sort_key]
    if sort_key == "description":
        return ordering.binary(session, sa.func.coalesce(column, ""))
    if sort_key == "updated_at":
        return sa.func.coalesce(column, _flavors.c.created_at)
    return ordering.binary(session, column)


def _after(
    session: Session, order: Sequence[sa.ColumnElement[Any]], marker: str, *, sort_dir: str
) -> sa.ColumnElement[bool]:
    last = session.execute(sa.select(*order).where(_flavors.c.flavorid == marker)).one_or_none()
    if last is None:
        raise exception.NotFound(f"marker [{marker}] not found")
    keys = [ordering.Key(key, sort_dir == "desc", nullable=False) for key in order]
    return ordering.after(keys, last)


def _insert_specs(session: Session, row_id: int, specs: Mapping[str, str]) -> None:
    rows = [{"flavor_id": row_id, "key": key, "value": value} for key, value in specs.items()]
    if rows:
        session.execute(sa.insert(_specs), rows)


def _row_id(session: Session, flavorid: str) -> int:
    row_id = session.execute(
        sa.select(_flavors.c.id).where(_flavors.c.flavorid == flavorid)
    ).scalar_one_or_none()
    if row_id is None:
        raise _missing(flavorid)
    return int(row_id)


def _missing(flavor: str) -> exception.NotFound:
    return exception.NotFound(f"Flavor {flavor} could not be found.")


def _taken(session: Session, flavor: Flavor) -> str:
    same_id = session.execute(
        sa.select(_flavors.c.id).where(_flavors.c.flavorid == flavor.flavorid)
    ).first()
    if same_id is not None:
        return f"Flavor with ID {flavor.flavorid} already exists."
    return f"Flavor with name {flavor.name} already exists."
