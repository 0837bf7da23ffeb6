"""Server groups and their members.

Only the members of a group change, so its version is that of its creation, and a higher one once it
is deleted. Transactions lock in one order: the project's quota, the group, its members, the
revision; so they do not deadlock.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from roost import exception
from roost.db import prepared
from roost.db.api import models, quota, revisions
from roost.db.engine import Session
from roost.db.types import database_now
from roost.objects import ServerGroup

_groups = models.instance_groups
_members = models.instance_group_members
_PLAIN = tuple(name for name in ServerGroup.fields if name not in ("members", "deleted"))

_OF_INSTANCE = (
    sa.select(_groups.c.uuid)
    .join(_members, _members.c.group_id == _groups.c.id)
    .where(_members.c.instance_uuid == sa.bindparam("instance_uuid"))
)


def create(session: Session, group: ServerGroup, *, defaults: Mapping[str, int]) -> ServerGroup:
    """Add a group without members, once; return it with its version.

    :param defaults: limits of resources for which the project has none of its own; -1: no limit
    :raises roost.exception.QuotaExceeded: when the project may not have one more
    """
    if exists(session, group.uuid):
        return get(session, group.uuid)
    quota.take(
        session,
        project_id=group.project_id,
        user_id=group.user_id,
        server_groups=1,
        defaults=defaults,
    )
    version = revisions.advance(session, revisions.SERVER_GROUPS)
    values = {name: getattr(group, name) for name in _PLAIN} | {"version": version}
    session.execute(sa.insert(_groups).values(**values, created_at=database_now()))
    return ServerGroup.of(**values)


def get(session: Session, uuid: str) -> ServerGroup:
    """Return a group with its members.

    :raises roost.exception.NotFound: when there is none
    """
    return _with_members(session, [_one(session, _by_uuid(uuid), uuid)])[0]


def exists(session: Session, uuid: str) -> bool:
    return session.execute(_by_uuid(uuid)).first() is not None


def owner(session: Session, uuid: str) -> str:
    """Return the project of a group.

    :raises roost.exception.NotFound: when there is none
    """
    return str(_one(session, _by_uuid(uuid), uuid).project_id)


def list_groups(
    session: Session, *, project_id: str | None, offset: int, limit: int
) -> list[ServerGroup]:
    """Return groups with their members, in order of their creation.

    :param project_id: None: of all projects
    """
    query = sa.select(_groups).order_by(_groups.c.id).offset(offset).limit(limit)
    if project_id is not None:
        query = query.where(_groups.c.project_id == project_id)
    return _with_members(session, session.execute(query).all())


def list_page(session: Session, *, after: str | None, limit: int) -> list[ServerGroup]:
    """Return groups whose uuid is above ``after`` with their members, in order of uuid."""
    query = sa.select(_groups).order_by(_groups.c.uuid).limit(limit)
    if after is not None:
        query = query.where(_groups.c.uuid > after)
    return _with_members(session, session.execute(query).all())


def delete(session: Session, uuid: str) -> ServerGroup:
    """Delete a group; its members are in no group then.

    :returns: the group marked deleted, as it is sent to the schedulers
    :raises roost.exception.NotFound: when there is none
    """
    row = _one(session, _by_uuid(uuid), uuid)
    quota.give_back(session, project_id=row.project_id, server_groups=1)
    _one(session, _by_uuid(uuid).with_for_update(), uuid)  # another call may have deleted it
    session.execute(sa.delete(_members).where(_members.c.group_id == row.id))
    session.execute(sa.delete(_groups).where(_groups.c.id == row.id))
    version = revisions.advance(session, revisions.SERVER_GROUPS)
    return _group(row, version=version, deleted=True)


def join(
    session: Session,
    uuid: str,
    *,
    instance_uuids: Sequence[str],
    user_id: str,
    defaults: Mapping[str, int],
) -> ServerGroup:
    """Add instances to a group; return it without its members.

    The group is locked until the transaction ends, so its members are counted exactly.

    :param user_id: their owner
    :param defaults: as for :func:`create`
    :raises roost.exception.NotFound: when there is no such group
    :raises roost.exception.QuotaExceeded: when it would have more members than the limit
    """
    row = _one(session, _by_uuid(uuid).with_for_update(), uuid)
    limits = quota.bounds(session, row.project_id, defaults, user_id=user_id)
    limit = limits["server_group_members"]
    if 0 <= limit < _count_members(session, row.id) + len(instance_uuids):
        raise exception.QuotaExceeded("Quota exceeded, too many servers in group", limit=limit)
    session.execute(
        sa.insert(_members),
        [{"instance_uuid": uuid, "group_id": row.id} for uuid in instance_uuids],
    )
    return _group(row)


def leave(session: Session, instance_uuid: str) -> None:
    """Remove an instance from its group, if it is in one."""
    prepared.delete(session, _members, {"instance_uuid": instance_uuid})


def list_of_instance(session: Session, instance_uuid: str) -> list[str]:
    """Return the uuids of an instance's groups: one at most."""
    return list(session.scalars(_OF_INSTANCE, {"instance_uuid": instance_uuid}))


def _by_uuid(uuid: str) -> sa.Select[Any]:
    return sa.select(_groups).where(_groups.c.uuid == uuid)


def _one(session: Session, query: sa.Select[Any], uuid: str) -> sa.Row[Any]:
    row = session.execute(query).one_or_none()
    if row is None:
        raise exception.NotFound(f"Instance group {uuid} could not be found.")
    return row


def _count_members(session: Session, group_id: int) -> int:
    query = sa.select(sa.func.count()).where(_members.c.group_id == group_id)
    return int(session.execute(query.select_from(_members)).scalar_one())


def _with_members(session: Session, rows: Collection[sa.Row[Any]]) -> list[ServerGroup]:
    query = sa.select(_members.c.group_id, _members.c.instance_uuid).order_by(_members.c.id)
    ids = [row.id for row in rows]
    members: dict[int, list[str]] = defaultdict(list)
    for group_id, uuid in session.execute(query.where(_members.c.group_id.in_(ids))):
        members[group_id].append(uuid)
    return [_group(row, members=members[row.id]) for row in rows]


def _group(row: sa.Row[Any], **more: Any) -> ServerGroup:
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return ServerGroup.of(**{name: values[name] for name in _PLAIN} | more)
