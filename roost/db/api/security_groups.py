"""Security groups of the local driver, their rules, and which servers are in them.

A server without a row in the table of members is in its project's default group.
"""

import dataclasses
import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from roost import exception
from roost.db import prepared
from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.security_groups import Group, SecurityGroupRule, default_group, same

_groups = models.security_groups
_members = models.security_group_members
_NONE: Final = str(UUID(int=0))  # marks a server that has left its last group


def groups_of(session: Session, instance_uuid: str) -> set[str] | None:
    """Return the ids of the groups that a server is in; None: it is in the default one."""
    query = sa.select(_members.c.group_id).where(_members.c.instance_uuid == instance_uuid)
    found = set(session.scalars(query))
    return found - {_NONE} if found else None


def join(session: Session, group_ids: Iterable[str], instance_uuids: Iterable[str]) -> None:
    """Add servers to groups, and lock the groups until this transaction ends.

    :raises roost.exception.NotFound: when a group is deleted
    """
    uuids = list(instance_uuids)
    for group_id in sorted(group_ids):
        held = sa.select(_groups.c.id).where(_groups.c.id == group_id).with_for_update()
        if session.execute(held).first() is None:
            raise exception.NotFound(f"Security group {group_id} not found.")
        for uuid in uuids:
            insert_once(session, _members, {"instance_uuid": uuid, "group_id": group_id})


def put(session: Session, group_ids: Iterable[str], instance_uuid: str) -> None:
    """Put a server in these groups, or none, and out of all others.

    :raises roost.exception.NotFound: when a group is deleted
    """
    wanted = set(group_ids)
    release(session, [instance_uuid])
    join(session, wanted, [instance_uuid])
    if not wanted:
        insert_once(session, _members, {"instance_uuid": instance_uuid, "group_id": _NONE})


def release(session: Session, instance_uuids: Collection[str]) -> None:
    """Remove servers from all groups."""
    prepared.delete(session, _members, {"instance_uuid": instance_uuids})


_rules = models.security_group_rules
_mappings = models.instance_mappings
_others = _groups.alias()


def ensure_default(session: Session, project_id: str, *, at: datetime.datetime) -> str:
    """Create a project's default group, if it does not exist, and return its id.

    It is created once: rules that users have deleted do not come back.
    """
    group = default_group(project_id)
    if not _exists(session, group.id):
        _insert(session, group, at=at)
    return group.id


def list_groups(
    session: Session, project_id: str | None, *, ids: Collection[str] | None = None
) -> list[Group]:
    """Return groups with their rules, the oldest first.

    :param project_id: of this project; None: of all
    :param ids: which of them; None: all
    """
    query = sa.select(_groups).order_by(_groups.c.created_at, _groups.c.id)
    if project_id is not None:
        query = query.where(_groups.c.project_id == project_id)
    if ids is not None:
        query = query.where(_groups.c.id.in_(ids))
    rows = session.execute(query).all()
    rules = _rules_of(session, [row.id for row in rows])
    return [_group(row, rules.get(row.id, [])) for row in rows]


def find(session: Session, group_id: str) -> Group | None:
    found = list_groups(session, None, ids=[group_id])
    return found[0] if found else None


def get(session: Session, group_id: str) -> Group:
    """Return a group.

    :raises roost.exception.NotFound: when there is none
    """
    found = find(session, group_id)
    if found is None:
        raise exception.NotFound(f"Security group {group_id} not found.")
    return found


def hold(session: Session, group_id: str) -> Group:
    """Return a group, locked until this transaction ends.

    :raises roost.exception.NotFound: when there is none
    """
    session.execute(sa.select(_groups.c.id).where(_groups.c.id == group_id).with_for_update())
    return get(session, group_id)


def find_rule(session: Session, rule_id: str) -> tuple[SecurityGroupRule, Group] | None:
    """Return a rule, and its group."""
    query = sa.select(_rules.c.group_id).where(_rules.c.id == rule_id)
    group_id = session.execute(query).scalar_one_or_none()
    group = None if group_id is None else find(session, group_id)
    if group is None:
        return None
    return next(((rule, group) for rule in group.rules if rule.id == rule_id), None)


def create(session: Session, group: Group, *, at: datetime.datetime) -> None:
    """Add a group with its rules, once.

    :raises roost.exception.Conflict: when the project has one of this name
    """
    if not _exists(session, group.id) and not _insert(session, group, at=at):
        raise _taken(group.name)


def change(session: Session, group_id: str, changes: Mapping[str, str]) -> Group:
    """Change name and description of a group, and return it.

    :raises roost.exception.NotFound: when it is deleted
    :raises roost.exception.Conflict: for a name that another has, or of a group with servers
    """
    group = hold(session, group_id)
    name = changes.get("name", group.name)
    if name != group.name:
        _check_empty(session, group, "which show it by its name")
        if _named(session, group.project_id, name):
            raise _taken(name)
    if changes:
        session.execute(sa.update(_groups).where(_groups.c.id == group_id).values(**changes))
    return group.with_words(changes)


def delete(session: Session, group_id: str) -> None:
    """Delete a group, if it exists, with its rules and those of others that allow its members.

    :raises roost.exception.Conflict: while a server is in it
    """
    try:
        group = hold(session, group_id)
    except exception.NotFound:
        return
    _check_empty(session, group, "which must leave it before")
    about = sa.or_(_rules.c.group_id == group_id, _rules.c.remote_group_id == group_id)
    session.execute(sa.delete(_rules).where(about))
    session.execute(sa.delete(_groups).where(_groups.c.id == group_id))


def add_rule(session: Session, rule: SecurityGroupRule, *, at: datetime.datetime) -> None:
    """Add a rule to a group, once.

    :raises roost.exception.NotFound: when the group, or the remote group, is deleted
    :raises roost.exception.Conflict: when it has an equal rule
    """
    held = {
        group_id: hold(session, group_id)
        for group_id in sorted({rule.group_id, rule.remote_group_id or rule.group_id})
    }
    group = held[rule.group_id]
    twins = [one for one in group.rules if same(one, rule)]
    if any(one.id == rule.id for one in twins):
        return
    if twins:
        raise exception.Conflict(
            f"This rule already exists in group {rule.group_id}: its id is {twins[0].id}."
        )
    insert_once(session, _rules, _row(rule, at))


def delete_rule(session: Session, rule_id: str) -> None:
    """Delete a rule, if it exists."""
    session.execute(sa.delete(_rules).where(_rules.c.id == rule_id))


def _exists(session: Session, group_id: str) -> bool:
    query = sa.select(_groups.c.id).where(_groups.c.id == group_id)
    return session.execute(query).first() is not None


def _named(session: Session, project_id: str, name: str) -> bool:
    wanted = (_groups.c.project_id == project_id, _groups.c.name == name)
    return session.execute(sa.select(_groups.c.id).where(*wanted)).first() is not None


def _insert(session: Session, group: Group, *, at: datetime.datetime) -> bool:
    row = {"id": group.id, "project_id": group.project_id, "name": group.name}
    inserted = insert_once(
        session, _groups, {**row, "description": group.description, "created_at": at}
    )
    if inserted:
        session.execute(sa.insert(_rules), [_row(rule, at) for rule in group.rules])
    return inserted


def _check_empty(session: Session, group: Group, why: str) -> None:
    if any(session.execute(query.limit(1)).first() is not None for query in _are_in(group)):
        raise exception.Conflict(
            f"Security group {group.id} is in use: there are servers in it, {why}."
        )


def members(session: Session, group: Group) -> list[str]:
    """Return the servers in a group, also those queued for delete."""
    return [uuid for query in _are_in(group) for uuid in session.scalars(query)]


def _are_in(group: Group) -> list[sa.Select[Any]]:
    named = sa.select(_members.c.instance_uuid).where(_members.c.group_id == group.id)
    is_default = group.id == default_group(group.project_id).id
    return [named, _in_no_other(group)] if is_default else [named]


def _in_no_other(group: Group) -> sa.Select[Any]:
    """Return the query for a project's servers that are in the default group without a row."""
    says = sa.exists().where(_members.c.instance_uuid == _mappings.c.instance_uuid)
    mine = _mappings.c.project_id == group.project_id
    return sa.select(_mappings.c.instance_uuid).where(mine, ~says)


def _taken(name: str) -> exception.Conflict:
    return exception.Conflict(f"Security group {name} already exists.")


def _rules_of(session: Session, group_ids: Sequence[str]) -> dict[str, list[SecurityGroupRule]]:
    query = (
        sa.select(_rules, _others.c.name.label("remote_group_name"))
        .select_from(_rules.outerjoin(_others, _others.c.id == _rules.c.remote_group_id))
        .where(_rules.c.group_id.in_(group_ids))
        .order_by(_rules.c.created_at, _rules.c.id)
    )
    found: dict[str, list[SecurityGroupRule]] = {}
    for row in session.execute(query).mappings():
        values = {field.name: row[field.name] for field in dataclasses.fields(SecurityGroupRule)}
        found.setdefault(row["group_id"], []).append(SecurityGroupRule(**values))
    return found


def _group(row: Any, rules: Sequence[SecurityGroupRule]) -> Group:
    return Group(
        id=row.id,
        project_id=row.project_id,
        name=row.name,
        description=row.description,
        rules=tuple(rules),
    )


def _row(rule: SecurityGroupRule, at: datetime.datetime) -> dict[str, Any]:
    values = dataclasses.asdict(rule)
    del values["remote_group_name"]  # that of the other group's row
    return {**values, "created_at": at}
