"""Ports of the local driver, as the API level keeps and counts them.

Those that users make beforehand are rows here: an address of a network, for a server that comes
later. Those that are made with servers are made by cells, which know them; here is written before
how many a server is to have, so that no two requests take the same quota.

What a project has of networks, subnets and ports is counted when more is asked for, under the lock
of the project's quota: so it is exact, and cannot drift.
"""

import dataclasses
import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost import exception
from roost.db.api import models, quota
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


def release_made_with_server(session: Session, instance_uuid: str) -> None:
    """Let a server that is gone have none."""
    session.execute(sa.delete(_rows).where(_c.instance_uuid == instance_uuid))


def _insert(
    session: Session, project_id: str, instance_uuid: str, *, port_id: str, ports: int
) -> None:
    row = {"instance_uuid": instance_uuid, "port_id": port_id}
    insert_once(session, _rows, {**row, "project_id": project_id, "ports": ports})


NETWORKS: Final = "networks"
SUBNETS: Final = "subnets"
PORTS: Final = "ports"
_networks = models.networks
_ports = models.made_ports


def usage(
    session: Session, project_id: str, names: Collection[str] = (NETWORKS, SUBNETS, PORTS)
) -> dict[str, int]:
    """Return what a project has of each, counted now."""
    mine = _networks.c.project_id == project_id
    made = sa.select(sa.func.count()).where(_ports.c.project_id == project_id)
    counts: dict[str, sa.Select[Any]] = {
        NETWORKS: sa.select(sa.func.count()).where(mine),
        SUBNETS: sa.select(sa.func.count(_networks.c.cidr)).where(mine),
        PORTS: sa.select(made.scalar_subquery() + count(project_id)),
    }
    return {name: int(session.execute(counts[name]).scalar_one()) for name in names}


def check(session: Session, project_id: str, defaults: Mapping[str, int], **asked: int) -> None:
    """Look whether a project may have so much more; until the end nobody else takes any.

    :param defaults: limits of who has none of their own; -1: no limit
    :raises roost.exception.QuotaExceeded: when it may not
    """
    quota.lock(session, project_id)
    quota.check(session, project_id, defaults, count=usage, asked=asked)


def port_room(session: Session, project_id: str, *, limit: int, most: int) -> int:
    """Return how many ports more a project may have, ``most`` at most; its quota must be held.

    :param limit: of the project, and -1: none
    """
    if limit < 0:
        return most
    has = usage(session, project_id, [PORTS])[PORTS]
    return max(0, min(most, limit - has))


@dataclasses.dataclass(frozen=True, kw_only=True)
class MadePort:
    """A port of a project; ``instance_uuid``: of whom it is now."""

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


def create(session: Session, port: MadePort, *, defaults: Mapping[str, int]) -> bool:
    """Add a port, once; False: another has its IP or its MAC address.

    :param defaults: limits of who has none of their own
    :raises roost.exception.QuotaExceeded: when its project may not have more
    """
    quota.lock(session, port.project_id)
    if find(session, port.id) is not None:
        return True
    check(session, port.project_id, defaults, **{PORTS: 1})
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

    :param project_id: whose; None: everybody's
    :param wanted: names of columns, and what is wanted of each
    """
    query = sa.select(_ports).where(_ports.c.id > after).order_by(_ports.c.id).limit(limit)
    if project_id is not None:
        query = query.where(_ports.c.project_id == project_id)
    for name, values in wanted.items():
        query = query.where(_ports.c[name].in_(values))
    return [MadePort(**row._mapping) for row in session.execute(query)]  # noqa: SLF001 - its name


def addresses(session: Session, network_id: str) -> set[str]:
    """Return all addresses of a network that ports have."""
    return set(session.scalars(sa.select(_ports.c.ip).where(_ports.c.network_id == network_id)))


def has_mac(session: Session, mac: str) -> bool:
    """Tell whether a port has this MAC address, in whatever network."""
    return session.execute(sa.select(_ports.c.id).where(_ports.c.mac == mac)).first() is not None


def has_address(session: Session, network_id: str, ip: str) -> bool:
    """Tell whether a port has this address."""
    target_cell = sa.select(_ports.c.id).where(_ports.c.network_id == network_id, _ports.c.ip == ip)
    return session.execute(target_cell).first() is not None


def take(session: Session, port_id: str, instance_uuid: str) -> None:
    """Give a port that nobody has to a server.

    :raises roost.exception.Conflict: when it is another's, or gone
    """
    c = _ports.c
    done = session.execute(
        sa.update(_ports)
        .where(c.id == port_id)
        .where(sa.or_(c.instance_uuid.is_(None), c.instance_uuid == instance_uuid))
        .values(instance_uuid=instance_uuid)
    )
    if done.rowcount != 1:
        raise exception.Conflict(f"Port {port_id} is still in use.")


def release(session: Session, instance_uuid: str) -> None:
    """Take the ports of a server back that is gone; they are for the next one."""
    session.execute(
        sa.update(_ports).where(_ports.c.instance_uuid == instance_uuid).values(instance_uuid=None)
    )


def change(session: Session, port_id: str, changes: Mapping[str, Any]) -> bool:
    """Change name, description and state of a port; False: there is none that was made beforehand.

    :param changes: names of columns, and their new values
    """
    if changes:
        session.execute(sa.update(_ports).where(_ports.c.id == port_id).values(**changes))
    return find(session, port_id) is not None


def delete(session: Session, port_id: str) -> None:
    """Delete a port; one that is gone is fine.

    :raises roost.exception.Conflict: while a server has it
    """
    done = session.execute(
        sa.delete(_ports).where(_ports.c.id == port_id, _ports.c.instance_uuid.is_(None))
    )
    if done.rowcount != 1 and find(session, port_id) is not None:
        raise exception.Conflict(f"Port {port_id} is in use by a server: delete that instead.")
