"""Addresses of the local network driver: a port is one address of one instance.

Two transactions that want the same address meet at a unique constraint, and the loser tries
another. Candidates are drawn at random, so that this is rare while a network has room; only when
luck fails are all addresses tried in order.
"""

import ipaddress
import secrets
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost import exception
from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.networks import LocalNetwork
from roost.objects import NetworkInfo, NetworkRequest, Vif

_ports = models.ports
_DRAWS: Final = 8
_IPV4: Final = 4


def allocate(
    session: Session,
    *,
    instance_uuid: str,
    host: str,
    requests: Sequence[NetworkRequest],
    networks: Sequence[LocalNetwork],
) -> NetworkInfo:
    """Give an instance one port per request, all bound to ``host``; it keeps those it has.

    A request that names no network gets the first of ``networks``. Competing transactions may be
    chosen as the victim of a deadlock: run the whole under :func:`roost.db.engine.retried`.

    :raises roost.exception.NotFound: for a network that is not among ``networks``
    :raises roost.exception.Invalid: for an address that the network cannot give, or a given port
    :raises roost.exception.AddressInUse: when the address asked for is taken
    :raises roost.exception.NoCapacity: when a network is full
    """
    held = {row.position for row in _list(session, instance_uuid)}
    if held:
        _bind(session, instance_uuid, host)
    for position, request in enumerate(requests):
        if position not in held:
            network = _network_of(request, networks)
            port = {
                "instance_uuid": instance_uuid,
                "position": position,
                "network_id": network.id,
                "host": host,
                "tag": request.tag,
            }
            _take_address(session, port, network, fixed_ip=_fixed_ip(request, network))
    return info(session, instance_uuid, networks=networks)


def info(session: Session, instance_uuid: str, *, networks: Sequence[LocalNetwork]) -> NetworkInfo:
    """Return the interfaces of an instance, in the order they were asked for.

    A port of a network that the configuration has lost shows its id as name, and only its address.
    """
    by_id = {network.id: network for network in networks}
    rows = _list(session, instance_uuid)
    return NetworkInfo.of(vifs=[_vif(row, by_id.get(row.network_id)) for row in rows])


def free(session: Session, instance_uuid: str) -> int:
    """Take all ports of an instance away; return how many there were."""
    done = session.execute(sa.delete(_ports).where(_ports.c.instance_uuid == instance_uuid))
    return int(done.rowcount)


def list_orphans(session: Session) -> list[tuple[str, str]]:
    """Return (port id, instance uuid) of the ports whose instance does not live, for audits."""
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
    return session.execute(
        sa.select(_ports).where(_ports.c.instance_uuid == instance_uuid).order_by(_ports.c.position)
    ).all()


def _bind(session: Session, instance_uuid: str, host: str) -> None:
    session.execute(
        sa.update(_ports).where(_ports.c.instance_uuid == instance_uuid).values(host=host)
    )


def _network_of(request: NetworkRequest, networks: Sequence[LocalNetwork]) -> LocalNetwork:
    if request.port_id is not None:
        raise exception.Invalid(
            f"Port {request.port_id} cannot be used: the local network driver makes its own ports."
        )
    for network in networks:
        if request.network_id in (None, network.id):
            return network
    raise exception.NotFound(f"Network {request.network_id or '(any)'} could not be found.")


def _fixed_ip(request: NetworkRequest, network: LocalNetwork) -> str | None:
    if request.fixed_ip is None:
        return None
    try:
        address = ipaddress.ip_address(request.fixed_ip)
    except ValueError as error:
        raise exception.Invalid(f"{request.fixed_ip!r} is not an IP address.") from error
    if address not in network.subnet or not _may_be_given(network, address):
        raise exception.Invalid(
            f"Fixed IP {address} is not an address that network {network.name} "
            f"({network.cidr}) gives to servers."
        )
    return str(address)


def _take_address(
    session: Session, port: dict[str, Any], network: LocalNetwork, *, fixed_ip: str | None
) -> None:
    """Insert the port with an address that nobody has, unless it is there by now."""
    candidates = iter([fixed_ip] * _DRAWS) if fixed_ip else _candidates(session, network)
    for ip in candidates:
        row = port | {"id": str(uuid.uuid4()), "ip": ip, "mac": _random_mac()}
        if insert_once(session, _ports, row):
            return
        if _is_there(session, port):  # the same request, sent twice, was faster elsewhere
            return
    if fixed_ip:
        raise exception.AddressInUse(
            f"Fixed IP {fixed_ip} of network {network.name} is in use.", address=fixed_ip
        )
    raise exception.NoCapacity(
        f"Network {network.name} ({network.cidr}) has no address left.", network=network.id
    )


def _is_there(session: Session, port: dict[str, Any]) -> bool:
    rows = _list(session, port["instance_uuid"])
    return any(row.position == port["position"] for row in rows)


def _candidates(session: Session, network: LocalNetwork) -> Iterator[str]:
    """Yield addresses to try: a few at random, then every one that is not known to be taken."""
    for _ in range(_DRAWS):
        address = network.subnet[secrets.randbelow(network.subnet.num_addresses)]
        if _may_be_given(network, address):
            yield str(address)
    rows = session.execute(sa.select(_ports.c.ip).where(_ports.c.network_id == network.id))
    taken = {row.ip for row in rows}
    for address in network.subnet.hosts():
        if str(address) not in taken and _may_be_given(network, address):
            yield str(address)


def _may_be_given(
    network: LocalNetwork, address: ipaddress.IPv4Address | ipaddress.IPv6Address
) -> bool:
    subnet = network.subnet
    kept_back = {subnet.network_address, subnet.network_address + 1}
    if subnet.version == _IPV4:
        kept_back.add(subnet.broadcast_address)
    return address not in kept_back


def _random_mac() -> str:
    """Return a locally administered unicast address."""
    return "02:" + secrets.token_bytes(5).hex(":")


def _vif(row: sa.Row[Any], network: LocalNetwork | None) -> Vif:
    return Vif.of(
        id=row.id,
        network_id=row.network_id,
        network_name=network.name if network else row.network_id,
        mac=row.mac,
        ip=row.ip,
        cidr=network.cidr if network else str(ipaddress.ip_network(row.ip)),
        gateway=network.gateway if network else None,
        host=row.host,
        tag=row.tag,
    )
