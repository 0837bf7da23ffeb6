"""The limits that operators set: of projects, of users in them, of classes of them; -1: none.

What is not set here is as the options say. A project is in the class ``default``; other classes are
kept for who asks for them, and limit nobody. A user has no more than the project, whatever is set.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once

DEFAULT_CLASS: Final = "default"
_of_projects = models.quota_limits
_of_users = models.quota_user_limits
_of_classes = models.quota_class_limits


class Limits(NamedTuple):
    """What is set for a project or for its class, and what for one user in it, by resource."""

    project: dict[str, int]
    user: dict[str, int]


def read(session: Session, project_id: str, user_id: str | None = None) -> Limits:
    """Return the limits that count for a project, its own before those of its class.

    By one statement, which boots wait for.

    :param user_id: whose own to read, too
    """
    sets = [
        _limits(_of_classes, class_name=DEFAULT_CLASS),
        _limits(_of_projects, project_id=project_id),
    ]
    if user_id is not None:
        sets.append(_limits(_of_users, project_id=project_id, user_id=user_id))
    numbered = [one.add_columns(sa.literal(at).label("at")) for at, one in enumerate(sets)]
    found: list[dict[str, int]] = [{}, {}, {}]
    for row in session.execute(sa.union_all(*numbered)):
        found[row.at][row.resource] = row.hard_limit
    of_class, of_project, of_user = found
    return Limits({**of_class, **of_project}, of_user)


def of_users(session: Session, project_id: str, *, but: str = "") -> dict[str, tuple[int, int]]:
    """Return the sum and the highest of the limits of a project's users, by resource.

    :param but: a user to leave out
    """
    c = _of_users.c
    numbers = (sa.func.sum(c.hard_limit), sa.func.max(c.hard_limit))
    rows = session.execute(
        sa.select(c.resource, *numbers)
        .where(c.project_id == project_id, c.user_id != but, c.hard_limit >= 0)
        .group_by(c.resource)
    )
    return {resource: (int(total), most) for resource, total, most in rows}


def of_class(session: Session, name: str) -> dict[str, int]:
    """Return what is set for a class."""
    return {
        row.resource: row.hard_limit
        for row in session.execute(_limits(_of_classes, class_name=name))
    }


def set_for_project(session: Session, project_id: str, limits: Mapping[str, int]) -> None:
    """Set limits of a project, by resource; others stay as they are."""
    _set(session, _of_projects, limits, project_id=project_id)


def unset_for_project(session: Session, project_id: str, names: Collection[str]) -> None:
    """Let the defaults count for a project again; where they do already, it is fine."""
    c = _of_projects.c
    session.execute(
        sa.delete(_of_projects).where(c.project_id == project_id, c.resource.in_(names))
    )


def set_for_user(
    session: Session, project_id: str, user_id: str, limits: Mapping[str, int]
) -> None:
    """Set limits of a user in a project, by resource; others stay as they are."""
    _set(session, _of_users, limits, project_id=project_id, user_id=user_id)


def set_for_class(session: Session, name: str, limits: Mapping[str, int]) -> None:
    """Set limits of a class, by resource; others stay as they are."""
    _set(session, _of_classes, limits, class_name=name)


def forget_project(session: Session, project_id: str) -> None:
    """Let a project and its users have no limits of their own; none that have any is fine."""
    for table in (_of_users, _of_projects):
        session.execute(sa.delete(table).where(table.c.project_id == project_id))


def forget_user(session: Session, project_id: str, user_id: str) -> None:
    """Let a user have no limits but those of the project; one who has no others is fine."""
    c = _of_users.c
    session.execute(sa.delete(_of_users).where(c.project_id == project_id, c.user_id == user_id))


def _limits(table: sa.Table, **owner: str) -> sa.Select[Any]:
    return sa.select(table.c.resource, table.c.hard_limit).filter_by(**owner)


def _set(session: Session, table: sa.Table, limits: Mapping[str, int], **owner: str) -> None:
    for resource, limit in sorted(limits.items()):
        row = {**owner, "resource": resource}
        if not insert_once(session, table, {**row, "hard_limit": limit}):
            where = [table.c[name] == value for name, value in row.items()]
            session.execute(sa.update(table).where(*where).values(hard_limit=limit))
