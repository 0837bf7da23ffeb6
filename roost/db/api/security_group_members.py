"""Which servers are in which security groups; of whom nothing is kept is in the default one."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from roost import exception
from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once

_groups = models.security_groups
_members = models.security_group_members
_NONE: Final = str(UUID(int=0))  # stands where a server has left its last group


def groups_of(session: Session, instance_uuid: str) -> set[str] | None:
    """Return the ids of the groups that a server is in; None: it is in the default one."""
    query = sa.select(_members.c.group_id).where(_members.c.instance_uuid == instance_uuid)
    found = set(session.scalars(query))
    return found - {_NONE} if found else None


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


def put(session: Session, group_ids: Iterable[str], instance_uuid: str) -> None:
    """Let a server be in these groups and no others, which may be none at all.

    :raises roost.exception.NotFound: when a group is gone
    """
    wanted = set(group_ids)
    let_go(session, instance_uuid)
    join(session, wanted, [instance_uuid])
    if not wanted:
        insert_once(session, _members, {"instance_uuid": instance_uuid, "group_id": _NONE})


def let_go(session: Session, instance_uuid: str) -> None:
    """Let a server that is gone be in none."""
    session.execute(sa.delete(_members).where(_members.c.instance_uuid == instance_uuid))
