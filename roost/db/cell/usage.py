"""Usage: the instances that ran in a cell during a period, also those deleted since."""

import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from roost.db import ordering, wire
from roost.db.cell import models
from roost.db.engine import Session
from roost.objects import Flavor, ImageMeta

_instances = models.instances
_ORDER = ("project_id", "uuid")
_COLUMNS = (*_ORDER, "display_name", "vm_state", "launched_at", "deleted_at", "flavor", "image")


class Ran(NamedTuple):
    """An instance that ran; ``ended`` None: it still exists."""

    project_id: str
    uuid: str
    name: str
    vm_state: str
    began: datetime.datetime
    ended: datetime.datetime | None
    flavor: Flavor
    image: ImageMeta | None


def list_ran(
    session: Session,
    *,
    since: datetime.datetime,
    until: datetime.datetime,
    project_id: str | None = None,
    after: tuple[str, str] | None = None,
    limit: int | None = None,
) -> list[Ran]:
    """Return the instances that ran at any time in a period, in order of project and uuid.

    :param project_id: None: of all projects
    :param after: project and uuid of the last one of the page before
    :param limit: None: all
    """
    keys = [
        ordering.Key(ordering.binary(session, _instances.c[name]), descending=False, nullable=False)
        for name in _ORDER
    ]
    query = sa.select(*[_instances.c[name] for name in _COLUMNS]).where(*_ran(since, until))
    if project_id is not None:
        query = query.where(_instances.c.project_id == project_id)
    if after is not None:
        query = query.where(ordering.after(keys, after))
    order_by = [clause for key in keys for clause in key.order_by()]
    return [_as_ran(row) for row in session.execute(query.order_by(*order_by).limit(limit))]


def find_project(session: Session, uuid: str) -> str | None:
    """Return the project of an instance, deleted or not."""
    query = sa.select(_instances.c.project_id).where(_instances.c.uuid == uuid)
    return session.execute(query).scalar_one_or_none()


def _ran(since: datetime.datetime, until: datetime.datetime) -> list[sa.ColumnElement[bool]]:
    """Return the conditions that an instance ran in a period: one that never ran has no launch."""
    c = _instances.c
    return [c.launched_at < until, sa.or_(c.deleted_at.is_(None), c.deleted_at > since)]


def _as_ran(row: sa.Row[Any]) -> Ran:
    *plain, flavor, image = tuple(row)
    return Ran._make([*plain, wire.load_shared(flavor), wire.load_shared(image)])
