"""Ports that are made with servers on networks of the local driver, as far as quotas count them.

Cells make them, and know which there are. Here it is written down before, so that no two requests
take the same place; whoever writes holds the quota of the project.
"""

from collections.abc import Iterable

import sqlalchemy as sa

from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once

_rows = models.server_ports
_c = _rows.c


def boot(session: Session, project_id: str, instance_uuids: Iterable[str], *, each: int) -> None:
    """Note that new servers are to have so many ports each, in the transaction that makes them."""
    each_row = {"project_id": project_id, "ports": each}
    rows = [{"instance_uuid": uuid, "port_id": uuid, **each_row} for uuid in instance_uuids]
    if each:
        session.execute(sa.insert(_rows), rows)


def attach(session: Session, project_id: str, instance_uuid: str, port_id: str) -> None:
    """Note that a server is to have one more port, once."""
    _insert(session, project_id, instance_uuid, port_id=port_id, ports=1)


def detach(session: Session, project_id: str, instance_uuid: str, port_id: str) -> None:
    """Note that a server does not have a port any more, once.

    Of a server that is older than these rows nothing is noted: it counts nothing.
    """
    mine = sa.and_(_c.instance_uuid == instance_uuid, _c.port_id == port_id)
    if session.execute(sa.select(_c.ports).where(mine)).first() is not None:
        session.execute(sa.update(_rows).where(mine, _c.ports > 0).values(ports=0))
        return
    booted = sa.and_(_c.instance_uuid == instance_uuid, _c.port_id == instance_uuid)
    if session.execute(sa.select(_c.ports).where(booted)).first() is not None:
        _insert(session, project_id, instance_uuid, port_id=port_id, ports=-1)


def count(project_id: str) -> sa.ScalarSelect[int]:
    """Return what asks for how many ports the servers of a project have, or are to have."""
    total = sa.select(sa.func.coalesce(sa.func.sum(_c.ports), 0))
    return total.where(_c.project_id == project_id).scalar_subquery()


def let_go(session: Session, instance_uuid: str) -> None:
    """Let a server that is gone have none."""
    session.execute(sa.delete(_rows).where(_c.instance_uuid == instance_uuid))


def _insert(
    session: Session, project_id: str, instance_uuid: str, *, port_id: str, ports: int
) -> None:
    row = {"instance_uuid": instance_uuid, "port_id": port_id}
    insert_once(session, _rows, {**row, "project_id": project_id, "ports": ports})
