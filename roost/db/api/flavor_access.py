"""Which projects may use the flavors that are not public."""

import sqlalchemy as sa

from roost import exception
from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once

_flavors = models.flavors
_access = models.flavor_projects


def list_projects(session: Session, flavorid: str) -> list[str]:
    """Return the projects that were given access, in order."""
    query = sa.select(_access.c.project_id).where(_access.c.flavor_id == _row_id(session, flavorid))
    return sorted(session.scalars(query))


def has(session: Session, flavorid: str, project_id: str) -> bool:
    """Tell whether a project was given access; to a flavor that is not there nobody was."""
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
    """Take access away from a project.

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
    """Return what holds for the flavors that a project was given access to."""
    return _flavors.c.id.in_(
        sa.select(_access.c.flavor_id).where(_access.c.project_id == project_id)
    )


def _row_id(session: Session, flavorid: str) -> int:
    row_id = session.scalar(sa.select(_flavors.c.id).where(_flavors.c.flavorid == flavorid))
    if row_id is None:
        raise exception.NotFound(f"Flavor {flavorid} could not be found.")
    return int(row_id)
