"""Addresses of the local network driver: a port is one address of one instance.

Of two transactions that want the same address, a unique constraint stops one, which tries another
address. Candidates are drawn at random, so that this is rare while a network has free addresses;
when they fail, all addresses are tried in order.
"""

import dataclasses
import ipaddress
import itertools
import secrets
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost import exception
from roost import networks as local
from roost.db import prepared
from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.networks import LocalNetwork
from roost.objects import NetworkInfo, NetworkRequest, Vif, VifAddress

_ports = models.ports
_OF_INSTANCE: Final = (
    sa.select(_ports)
    .where(_ports.c.instance_uuid == sa.bindparam("instance_uuid"))
    .order_by(_ports.c.position)
)
_DRAWS: Final = 8  # addresses drawn at random, before free ones are tried in order
_TRIES: Final = 64  # addresses tried for one port; others can take so many at the same time


@dataclasses.dataclass(frozen=True, kw_only=True)
class PortRow:
    """A port of a live instance in a cell."""

    id: str
    instance_uuid: str
    project_id: str
    network_id: str
    ip: str
    mac: str
    host: str | None


def allocate(
    session: Session,
    *,
    instance_uuid: str,
    host: str,
    requests: Sequence[NetworkRequest],
    networks: Sequence[LocalNetwork],
) -> NetworkInfo:
    """Give an instance one port per request, all bound to ``host``; it keeps those it has.

    A request that names no network gets the first of ``networks``. The transaction may be the
    victim of a deadlock: run it under :func:`roost.db.engine.retried`.

    :raises roost.exception.NotFound: for a network that is not among ``networks``
    :raises roost.exception.Invalid: for an address that the network does not assign
    :raises roost.exception.AddressInUse: when the requested IP or MAC address is taken
    :raises roost.exception.NoCapacity: when a network is full
    """
    held = {row.position for row in _list(session, instance_uuid)}
    if held:
        _bind(session, instance_uuid, host)
    made = []
    for position, request in enumerate(requests):
        if position not in held:
            port = {
                "id": str(uuid.uuid4()),
                "instance_uuid": instance_uuid,
                "position": position,
                "host": host,
            }
            made.append(_make(session, port, request, networks))
    new = [row for row in made if row is not None]
    if held or len(new) < len(requests):
        return info(session, instance_uuid, networks=networks)
    return _info(new, networks)


def add(
    session: Session,
    *,
    instance_uuid: str,
    host: str,
    request: NetworkRequest,
    networks: Sequence[LocalNetwork],
    port_id: str,
) -> None:
    """Give an instance one more port, of this id, unless it has it; raises as :func:`allocate`."""
    held = _list(session, instance_uuid)
    if port_id not in {row.id for row in held}:
        port = {
            "id": port_id,
            "instance_uuid": instance_uuid,
            "position": max((row.position for row in held), default=-1) + 1,
            "host": host,
        }
        _make(session, port, request, networks)


def remove(session: Session, *, instance_uuid: str, port_id: str) -> None:
    """Delete one port of an instance, if it exists."""
    session.execute(
        sa.delete(_ports).where(_ports.c.instance_uuid == instance_uuid, _ports.c.id == port_id)
    )


def info(session: Session, instance_uuid: str, *, networks: Sequence[LocalNetwork]) -> NetworkInfo:
    """Return the interfaces of an instance, in the order of the requests.

    The port's row has name and CIDR of a network that a user created. A port of a network that the
    configuration no longer has shows the network's id as its name, and only its address.
    """
    rows = [row._asdict() for row in _list(session, instance_uuid)]
    return _info(rows, networks)


def _info(rows: Iterable[Mapping[str, Any]], networks: Sequence[LocalNetwork]) -> NetworkInfo:
    by_id = {network.id: network for network in networks}
    return NetworkInfo.of(vifs=[_vif(row, by_id.get(row["network_id"])) for row in rows])


def owners(session: Session, *, ip: str, host: str, network_ids: Sequence[str]) -> list[str]:
    """Return the instances on a host that have this address in one of these networks."""
    held = _ports.c.network_id.in_(network_ids) & (_ports.c.ip == ip)
    return list(
        session.execute(
            sa.select(_ports.c.instance_uuid).where(held, _ports.c.host == host)
        ).scalars()
    )


def free(session: Session, instance_uuid: str) -> int:
    """Delete all ports of an instance; return how many there were."""
    return prepared.delete(session, _ports, {"instance_uuid": instance_uuid})


def list_live(
    session: Session,
    *,
    project_id: str | None,
    wanted: Mapping[str, Collection[str]],
    after: str = "",
    limit: int,
) -> list[PortRow]:
    """Return ports of live instances, in order of their ids.

    :param project_id: of this project's instances; None: of all
    :param wanted: names of columns, and the values wanted of each
    """
    instances = models.instances
    query = (
        sa.select(_ports, instances.c.project_id)
        .join(instances, instances.c.uuid == _ports.c.instance_uuid)
        .where(instances.c.deleted_at.is_(None), _ports.c.id > after)
        .order_by(_ports.c.id)
        .limit(limit)
    )
    if project_id is not None:
        query = query.where(instances.c.project_id == project_id)
    for name, values in wanted.items():
        query = query.where(_ports.c[name].in_(values))
    return [_port_row(row) for row in session.execute(query)]


def list_orphans(session: Session) -> list[tuple[str, str]]:
    """Return (port id, instance uuid) of the ports without a live instance, for audits."""
    instances = models.instances
    live = sa.and_(instances.c.uuid == _ports.c.instance_uuid, instances.c.deleted_at.is_(None))
    rows = session.execute(
        sa.select(_ports.c.id, _ports.c.instance_uuid)
        .select_from(_ports.outerjoin(instances, live))
        .where(instances.c.uuid.is_(None))
        .order_by(_ports.c.id)
    )
    return [(row.id, row.instance_uuid) for row in rows]


def _list(session: Session, instance_uuid: str) -> Sequence[sa.Row[Any]]:
    return session.execute(_OF_INSTANCE, {"instance_uuid": instance_uuid}).all()


def _make(
    session: Session,
    port: dict[str, Any],
    request: NetworkRequest,
    networks: Sequence[LocalNetwork],
) -> Mapping[str, Any] | None:
    """Insert a port, and return its row; None: another delivery of the request has inserted it."""
    network = _network_of(request, networks)
    port = {**port, "network_id": network.id, "tag": request.tag}
    port |= {"network_name": request.network_name, "cidr": request.cidr}
    if request.port_id is not None:
        port |= {"id": request.port_id, "mac": request.mac}
    return _take_address(session, port, network, fixed_ip=_fixed_ip(request, network))


def _bind(session: Session, instance_uuid: str, host: str) -> None:
    prepared.update(session, _ports, {"instance_uuid": instance_uuid}, {"host": host})


def _network_of(request: NetworkRequest, networks: Sequence[LocalNetwork]) -> LocalNetwork:
    if request.cidr is not None:
        return _users_own(str(request.network_id), str(request.network_name), request.cidr)
    for network in networks:
        if request.network_id in (None, network.id):
            return network
    raise exception.NotFound(f"Network {request.network_id or '(any)'} could not be found.")


def _users_own(network_id: str, name: str, cidr: str) -> LocalNetwork:
    return LocalNetwork(name=name, cidr=cidr, given_id=network_id)


def _fixed_ip(request: NetworkRequest, network: LocalNetwork) -> str | None:
    if request.fixed_ip is None:
        return None
    return local.fixed_ip(request.fixed_ip, network)


def _take_address(
    session: Session, port: dict[str, Any], network: LocalNetwork, *, fixed_ip: str | None
) -> Mapping[str, Any] | None:
    """Insert the port with a free address, and return its row; None: the port exists by now."""
    candidates = iter([fixed_ip] * _DRAWS) if fixed_ip else _candidates(session, network)
    for ip in itertools.islice(candidates, _TRIES):
        row = {"mac": local.random_mac()} | port | {"ip": ip}
        if insert_once(session, _ports, row):
            return row
        if _is_there(session, port):  # another delivery of the same request has inserted it
            return None
        if "mac" in port and _has_mac(session, port["mac"]):
            mac = port["mac"]
            raise exception.AddressInUse(f"MAC address {mac} is in use.", address=mac)
    if fixed_ip:
        raise exception.AddressInUse(
            f"Fixed IP {fixed_ip} of network {network.name} is in use.", address=fixed_ip
        )
    raise exception.NoCapacity(
        f"Network {network.name} ({network.cidr}) has no address left.", network=network.id
    )


def _has_mac(session: Session, mac: str) -> bool:
    return session.execute(sa.select(_ports.c.id).where(_ports.c.mac == mac)).first() is not None


def _is_there(session: Session, port: dict[str, Any]) -> bool:
    rows = _list(session, port["instance_uuid"])
    return any(row.position == port["position"] for row in rows)


def _candidates(session: Session, network: LocalNetwork) -> Iterator[str]:
    """Yield addresses to try: a few at random, then every one that is not known to be taken."""
    for _ in range(_DRAWS):
        address = network.subnet[secrets.randbelow(local.cells_share(network))]
        if local.may_be_given(network, address):
            yield str(address)
    rows = session.execute(sa.select(_ports.c.ip).where(_ports.c.network_id == network.id))
    taken = {row.ip for row in rows}
    for address in network.subnet.hosts():
        if str(address) not in taken and local.may_be_given(network, address):
            yield str(address)


def _port_row(row: sa.Row[Any]) -> PortRow:
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return PortRow(**{field.name: values[field.name] for field in dataclasses.fields(PortRow)})


def _vif(row: Mapping[str, Any], network: LocalNetwork | None) -> Vif:
    if row["cidr"] is not None:
        network = _users_own(row["network_id"], row["network_name"], row["cidr"])
    address = VifAddress.of(
        ip=row["ip"],
        subnet_id=row["network_id"],  # a local network is one subnet
        cidr=network.cidr if network else str(ipaddress.ip_network(row["ip"])),
        gateway=network.gateway if network else None,
        dhcp=False,  # there is no DHCP server: guests read the metadata
    )
    return Vif.of(
        id=row["id"],
        network_id=row["network_id"],
        network_name=network.name if network else row["network_id"],
        mac=row["mac"],
        ip=row["ip"],
        cidr=address.cidr,
        gateway=address.gateway,
        host=row["host"],
        tag=row["tag"],
        addresses=[address],
    )
