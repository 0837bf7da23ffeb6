"""What hosts of a cell need to filter for security groups: a copy of the groups, and who is where.

The groups themselves are the API level's, which no cell asks: ``roost/cells/security_groups.py``
brings them here. Who is in them follows from the rows of instances.
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
    """Let this cell have the groups of a project as they are; tell whether it had others."""
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
    """Return the groups of projects that were brought here.

    :param project_ids: whose; None: everybody's
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
    """Return the addresses in networks of all projects that have a port in them on a host."""
    here = (_ports.c.host == host, _ports.c.network_id.in_(network_ids))
    projects = set(session.scalars(_living(sa.select(_instances.c.project_id)).where(*here)))
    told = sa.select(_ports, _instances.c.project_id, _instances.c.security_groups)
    query = _living(told).where(
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
    """Return whose an instance is, deleted or not."""
    query = sa.select(_instances.c.project_id).where(_instances.c.uuid == instance_uuid)
    project_id: str | None = session.scalar(query)
    return project_id


def _living(query: sa.Select[tuple[str]]) -> sa.Select[tuple[str]]:
    """Let a query be about ports of instances that live."""
    joined = _ports.join(_instances, _instances.c.uuid == _ports.c.instance_uuid)
    return query.select_from(joined).where(_instances.c.deleted_at.is_(None))
