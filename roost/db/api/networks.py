"""Networks that users create for the local driver, and the servers on them.

Tags are here as well, also those of the ports in ``ports.py``: each is a column of its row.
"""

import dataclasses
import datetime
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost import exception
from roost.db import prepared
from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once

_networks = models.networks
_uses = models.network_uses
_ports = models.made_ports


@dataclasses.dataclass(frozen=True, kw_only=True)
class Network:
    """A network of a project; ``cidr``, ``subnet_name`` and ``subnet_tags`` of its one subnet."""

    id: str
    project_id: str
    name: str
    description: str
    shared: bool
    cidr: str | None
    subnet_name: str | None
    created_at: datetime.datetime
    admin_state_up: bool = True
    tags: Sequence[str] = ()
    subnet_tags: Sequence[str] = ()


def create(session: Session, network: Network) -> None:
    """Add a network, which has no subnet yet, once."""
    insert_once(session, _networks, dataclasses.asdict(network))


def list_seen(session: Session, project_id: str | None) -> list[Network]:
    """Return a project's networks and all shared ones, the oldest first; None: all networks."""
    query = sa.select(_networks).order_by(_networks.c.created_at, _networks.c.id)
    if project_id is not None:
        query = query.where(
            sa.or_(_networks.c.project_id == project_id, _networks.c.shared.is_(True))
        )
    return [Network(**row._mapping) for row in session.execute(query)]  # noqa: SLF001 - its name


def find(session: Session, network_id: str) -> Network | None:
    query = sa.select(_networks).where(_networks.c.id == network_id)
    row = session.execute(query).one_or_none()
    return None if row is None else Network(**row._mapping)  # noqa: SLF001 - its name


def give_subnet(session: Session, network: Network, *, cidr: str, name: str) -> None:
    """Set the subnet of a network.

    :raises roost.exception.Conflict: when it has another one, or is deleted
    """
    done = session.execute(
        sa.update(_networks)
        .where(_networks.c.id == network.id)
        .where(sa.or_(_networks.c.cidr.is_(None), _networks.c.cidr == cidr))
        .values(cidr=cidr, subnet_name=name)
    )
    if done.rowcount != 1:
        raise exception.Conflict(f"Network {network.id} has its one subnet.")


def take_subnet(session: Session, network_id: str) -> None:
    """Remove the subnet of a network.

    :raises roost.exception.Conflict: while a server or a port is on it
    """
    _check_unused(session, network_id)
    session.execute(
        sa.update(_networks)
        .where(_networks.c.id == network_id)
        .values(cidr=None, subnet_name=None, subnet_tags=None)
    )


def change(session: Session, network_id: str, changes: Mapping[str, Any]) -> Network:
    """Change names, descriptions and the state of a network, and return it.

    :param changes: names of columns, and their new values
    :raises roost.exception.NotFound: when it is deleted
    """
    if changes:
        mine = sa.update(_networks).where(_networks.c.id == network_id)
        session.execute(mine.values(**changes))
    found = find(session, network_id)
    if found is None:
        raise exception.NotFound(f"Network {network_id} could not be found.")
    return found


def delete(session: Session, network_id: str) -> None:
    """Delete a network, if it exists.

    :raises roost.exception.Conflict: while a server or a port is on it
    """
    _check_unused(session, network_id)
    session.execute(sa.delete(_networks).where(_networks.c.id == network_id))


def hold(session: Session, network_id: str) -> Network:
    """Return a network, locked until this transaction ends.

    :raises roost.exception.Invalid: when it is deleted, or has no subnet (any more)
    """
    mine = {"id": network_id}
    row = prepared.select(session, *_networks.c, where=mine, lock=True).one_or_none()
    if row is None:
        raise exception.Invalid(f"Network {network_id} could not be found.")
    if row.cidr is None:
        raise exception.Invalid(
            f"Network {network_id} requires a subnet in order to boot instances on."
        )
    return Network(**row._mapping)  # noqa: SLF001 - SQLAlchemy's public name


def use(session: Session, network_id: str, instance_uuids: Iterable[str]) -> None:
    """Record that servers will use a network.

    :raises roost.exception.Invalid: as :func:`hold` does
    """
    hold(session, network_id)
    for uuid in instance_uuids:
        insert_once(session, _uses, {"instance_uuid": uuid, "network_id": network_id})


def users(session: Session, network_id: str) -> list[str]:
    """Return the servers that use a network, or will."""
    query = sa.select(_uses.c.instance_uuid).where(_uses.c.network_id == network_id)
    return [*session.scalars(query)]


def leave(session: Session, network_id: str, instance_uuid: str) -> None:
    """Remove a server from a network."""
    prepared.delete(session, _uses, {"network_id": network_id, "instance_uuid": instance_uuid})


def release(session: Session, instance_uuids: Collection[str]) -> None:
    """Remove deleted servers from all networks."""
    prepared.delete(session, _uses, {"instance_uuid": instance_uuids})


def _check_unused(session: Session, network_id: str) -> None:
    """Lock a network, then check that it is unused; a server that wants it waits for the lock."""
    query = sa.select(_networks.c.id).where(_networks.c.id == network_id).with_for_update()
    session.execute(query).first()
    for what, table in (("servers", _uses), ("ports", _ports)):
        found = sa.select(table.c.network_id).where(table.c.network_id == network_id).limit(1)
        if session.execute(found).first() is not None:
            raise exception.Conflict(f"Network {network_id} is in use: there are {what} on it.")


OF_NETWORKS: Final = models.networks.c.tags
OF_SUBNETS: Final = models.networks.c.subnet_tags
OF_PORTS: Final = models.made_ports.c.tags
Edit = Callable[[Sequence[str]], Sequence[str]]


def edit(session: Session, column: sa.Column[Any], row_id: str, change: Edit) -> list[str]:
    """Replace tags by what ``change`` makes of them, under a lock, and return the new ones.

    :param row_id: of the network or the port
    :raises roost.exception.NotFound: when it is deleted
    """
    mine = column.table.c.id == row_id
    before = session.execute(sa.select(column).where(mine).with_for_update()).one_or_none()
    if before is None:
        raise exception.NotFound(f"{row_id} could not be found.")
    after = sorted(set(change(before[0])))
    session.execute(sa.update(column.table).where(mine).values({column.name: after}))
    return after
