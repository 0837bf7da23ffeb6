"""Copies of security groups and their members' addresses, with which hosts of a cell filter.

The groups themselves are in the API database, which cells do not read:
``roost/cells/security_groups.py`` copies them here. Their members follow from the instances.
"""

import json
from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.security_groups import DEFAULT, Group, GroupMember, group_as_dict, read_group

_copies = models.security_group_copies
_instances = models.instances
_ports = models.ports


def bring(session: Session, project_id: str, groups: Sequence[Group]) -> bool:
    """Update this cell's copy of a project's groups; return whether it differed."""
    text = json.dumps([group_as_dict(group) for group in groups])
    row = {"project_id": project_id, "security_groups": text}
    mine = _copies.c.project_id == project_id
    found = session.scalar(sa.select(_copies.c.security_groups).where(mine))
    if found is None:
        return insert_once(session, _copies, row) or bring(session, project_id, groups)
    if found != text:
        session.execute(sa.update(_copies).where(mine).values(security_groups=text))
    return bool(found != text)


def copies(session: Session, project_ids: Collection[str] | None = None) -> dict[str, list[Group]]:
    """Return the copies of groups, by project.

    :param project_ids: of these projects; None: of all
    """
    query = sa.select(_copies.c.project_id, _copies.c.security_groups)
    if project_ids is not None:
        query = query.where(_copies.c.project_id.in_(project_ids))
    return {
        row.project_id: [read_group(values) for values in json.loads(row.security_groups)]
        for row in session.execute(query)
    }


def members(
    session: Session, *, host: str, network_ids: Collection[str]
) -> Mapping[str, list[GroupMember]]:
    """Return the addresses in these networks of all projects with a port there on this host."""
    here = (_ports.c.host == host, _ports.c.network_id.in_(network_ids))
    projects = set(session.scalars(_living(sa.select(_instances.c.project_id)).where(*here)))
    columns = sa.select(_ports, _instances.c.project_id, _instances.c.security_groups)
    query = _living(columns).where(
        _ports.c.network_id.in_(network_ids), _instances.c.project_id.in_(projects)
    )
    found: dict[str, list[GroupMember]] = {network_id: [] for network_id in network_ids}
    for row in session.execute(query.order_by(_ports.c.id)):
        names = json.loads(row.security_groups) if row.security_groups else [DEFAULT]
        found[row.network_id].append(
            GroupMember(row.id, row.project_id, row.network_id, row.ip, row.host, names)
        )
    return found


def hosts_of(session: Session, project_id: str) -> list[str]:
    """Return the hosts on which servers of a project have addresses."""
    query = _living(sa.select(_ports.c.host).distinct())
    query = query.where(_instances.c.project_id == project_id, _ports.c.host.is_not(None))
    return sorted(session.scalars(query))


def projects(session: Session) -> list[str]:
    """Return the projects whose servers have addresses in this cell."""
    return sorted(session.scalars(_living(sa.select(_instances.c.project_id).distinct())))


def project_of(session: Session, instance_uuid: str) -> str | None:
    """Return the project of an instance, deleted or not."""
    query = sa.select(_instances.c.project_id).where(_instances.c.uuid == instance_uuid)
    project_id: str | None = session.scalar(query)
    return project_id


def _living(query: sa.Select[tuple[str]]) -> sa.Select[tuple[str]]:
    """Restrict a query to ports of live instances."""
    joined = _ports.join(_instances, _instances.c.uuid == _ports.c.instance_uuid)
    return query.select_from(joined).where(_instances.c.deleted_at.is_(None))
