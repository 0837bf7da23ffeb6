"""Which servers are in which security groups; who is in none that is kept is in the default one."""

from collections.abc import Iterable

import sqlalchemy as sa

from roost import exception
from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once

_groups = models.security_groups
_members = models.security_group_members


def groups_of(session: Session, instance_uuid: str) -> set[str]:
    """Return the ids of the groups that a server is in; none: it is in the default one."""
    query = sa.select(_members.c.group_id).where(_members.c.instance_uuid == instance_uuid)
    return set(session.scalars(query))


def join(session: Session, group_ids: Iterable[str], instance_uuids: Iterable[str]) -> None:
    """Let servers be in groups, which nobody deletes before this transaction ends.

    :raises roost.exception.NotFound: when a group is gone
    """
    uuids = list(instance_uuids)
    for group_id in sorted(group_ids):
        held = sa.select(_groups.c.id).where(_groups.c.id == group_id).with_for_update()
        if session.execute(held).first() is None:
            raise exception.NotFound(f"Security group {group_id} not found.")
        for uuid in uuids:
            insert_once(session, _members, {"instance_uuid": uuid, "group_id": group_id})


def leave(session: Session, group_id: str, instance_uuid: str) -> None:
    """Let a server not be in a group; one that is not in it is fine."""
    mine = (_members.c.instance_uuid == instance_uuid, _members.c.group_id == group_id)
    session.execute(sa.delete(_members).where(*mine))


def let_go(session: Session, instance_uuid: str) -> None:
    """Let a server that is gone be in none."""
    session.execute(sa.delete(_members).where(_members.c.instance_uuid == instance_uuid))
