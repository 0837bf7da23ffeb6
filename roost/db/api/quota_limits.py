"""The limits that operators set: of one project, or of a class of them; -1: none.

What is not set here is as the options say. A project is in the class ``default``; other classes are
kept for who asks for them, and limit nobody.
"""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once

DEFAULT_CLASS: Final = "default"
_of_projects = models.quota_limits
_of_classes = models.quota_class_limits


def of_project(session: Session, project_id: str) -> dict[str, int]:
    """Return the limits that count for a project, its own before those of its class."""
    of_class = _limits(_of_classes, class_name=DEFAULT_CLASS).add_columns(
        sa.literal(0).label("own")
    )
    own = _limits(_of_projects, project_id=project_id).add_columns(sa.literal(1).label("own"))
    rows = session.execute(sa.union_all(of_class, own))
    return {row.resource: row.hard_limit for row in sorted(rows, key=lambda row: row.own)}


def of_class(session: Session, name: str) -> dict[str, int]:
    """Return what is set for a class."""
    return {
        row.resource: row.hard_limit
        for row in session.execute(_limits(_of_classes, class_name=name))
    }


def set_for_project(session: Session, project_id: str, limits: Mapping[str, int]) -> None:
    """Set limits of a project, by resource; others stay as they are."""
    _set(session, _of_projects, limits, project_id=project_id)


def set_for_class(session: Session, name: str, limits: Mapping[str, int]) -> None:
    """Set limits of a class, by resource; others stay as they are."""
    _set(session, _of_classes, limits, class_name=name)


def forget_project(session: Session, project_id: str) -> None:
    """Let a project have no limits of its own; one that has none is fine."""
    session.execute(sa.delete(_of_projects).where(_of_projects.c.project_id == project_id))


def _limits(table: sa.Table, **owner: str) -> sa.Select[Any]:
    return sa.select(table.c.resource, table.c.hard_limit).filter_by(**owner)


def _set(session: Session, table: sa.Table, limits: Mapping[str, int], **owner: str) -> None:
    for resource, limit in sorted(limits.items()):
        row = {**owner, "resource": resource}
        if not insert_once(session, table, {**row, "hard_limit": limit}):
            where = [table.c[name] == value for name, value in row.items()]
            session.execute(sa.update(table).where(*where).values(hard_limit=limit))
