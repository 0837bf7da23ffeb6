"""Ports that users create on networks of the local driver before their servers exist.

Ports that are created with servers are in the cells.
"""

import dataclasses
import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from roost import exception
from roost.db import prepared
from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once

_ports = models.made_ports


@dataclasses.dataclass(frozen=True, kw_only=True)
class MadePort:
    """A port of a project; ``instance_uuid``: the server that has it now."""

    id: str
    project_id: str
    network_id: str
    name: str
    description: str
    ip: str
    mac: str
    instance_uuid: str | None
    created_at: datetime.datetime
    admin_state_up: bool = True
    tags: Sequence[str] = ()


def create(session: Session, port: MadePort) -> bool:
    """Add a port, once; False: another has its IP or its MAC address."""
    if find(session, port.id) is not None:
        return True
    return insert_once(session, _ports, dataclasses.asdict(port))


def find(session: Session, port_id: str) -> MadePort | None:
    row = session.execute(sa.select(_ports).where(_ports.c.id == port_id)).one_or_none()
    return None if row is None else MadePort(**row._mapping)  # noqa: SLF001 - its name


def list_ports(
    session: Session,
    *,
    project_id: str | None,
    wanted: Mapping[str, Collection[str]],
    after: str = "",
    limit: int,
) -> list[MadePort]:
    """Return ports in order of their ids.

    :param project_id: of this project; None: of all
    :param wanted: names of columns, and the values wanted of each
    """
    query = sa.select(_ports).where(_ports.c.id > after).order_by(_ports.c.id).limit(limit)
    if project_id is not None:
        query = query.where(_ports.c.project_id == project_id)
    for name, values in wanted.items():
        query = query.where(_ports.c[name].in_(values))
    return [MadePort(**row._mapping) for row in session.execute(query)]  # noqa: SLF001 - its name


def addresses(session: Session, network_id: str) -> set[str]:
    """Return the addresses of all ports on a network."""
    return set(session.scalars(sa.select(_ports.c.ip).where(_ports.c.network_id == network_id)))


def has_mac(session: Session, mac: str) -> bool:
    """Return whether a port on any network has this MAC address."""
    return session.execute(sa.select(_ports.c.id).where(_ports.c.mac == mac)).first() is not None


def has_address(session: Session, network_id: str, ip: str) -> bool:
    """Return whether a port has this address."""
    target_cell = sa.select(_ports.c.id).where(_ports.c.network_id == network_id, _ports.c.ip == ip)
    return session.execute(target_cell).first() is not None


def take(session: Session, port_id: str, instance_uuid: str) -> None:
    """Give a free port to a server.

    :raises roost.exception.Conflict: when another server has it, or it is deleted
    """
    free = {"id": port_id, "instance_uuid": (None, instance_uuid)}
    if prepared.update(session, _ports, free, {"instance_uuid": instance_uuid}) != 1:
        raise exception.Conflict(f"Port {port_id} is still in use.")


def give_back(session: Session, port_id: str, instance_uuid: str) -> None:
    """Free a port, if this server has it."""
    mine = {"id": port_id, "instance_uuid": instance_uuid}
    prepared.update(session, _ports, mine, {"instance_uuid": None})


def release(session: Session, instance_uuids: Collection[str]) -> None:
    """Free all ports of deleted servers."""
    prepared.update(session, _ports, {"instance_uuid": instance_uuids}, {"instance_uuid": None})


def change(session: Session, port_id: str, changes: Mapping[str, Any]) -> bool:
    """Change name, description and state of a port; False: there is no such port here.

    :param changes: names of columns, and their new values
    """
    if changes:
        session.execute(sa.update(_ports).where(_ports.c.id == port_id).values(**changes))
    return find(session, port_id) is not None


def delete(session: Session, port_id: str) -> None:
    """Delete a port, if it exists.

    :raises roost.exception.Conflict: while a server has it
    """
    done = session.execute(
        sa.delete(_ports).where(_ports.c.id == port_id, _ports.c.instance_uuid.is_(None))
    )
    if done.rowcount != 1 and find(session, port_id) is not None:
        raise exception.Conflict(f"Port {port_id} is in use by a server: delete that instead.")
