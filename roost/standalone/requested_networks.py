"""The networks of a new server: resolved to network requests, taken, and their locality."""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Any

from roost import exception
from roost.db.api import networks as rows
from roost.db.api import ports
from roost.db.engine import Session
from roost.networks import LocalNetwork
from roost.objects import Locality, NetworkRequest
from roost.standalone.known_networks import Known


def networks_of(
    asked: dict[str, Any], known: Known, *, alone: bool, instance_uuid: str | None = None
) -> list[NetworkRequest]:
    """Return the interfaces that a create request names; none for ``"none"``.

    Left out, empty or ``"auto"`` means one interface on any network.

    :param alone: whether the request is for one server, which may then choose its address
    :param instance_uuid: the server, if it exists: it may name a port that it has already
    :raises roost.exception.Invalid: for unknown networks and invalid addresses
    :raises roost.exception.Conflict: for a port that another server has
    """
    wanted: Any = asked.get("networks") or "auto"
    if wanted == "none":
        return []
    if wanted == "auto":
        return [NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)]
    return [_request(nic, known, alone=alone, instance_uuid=instance_uuid) for nic in wanted]


def take(session: Session, requests: Iterable[NetworkRequest], uuids: Sequence[str]) -> None:
    """Assign networks and ports to new servers, in the transaction that creates them.

    Only requests for local networks and ports have ``cidr`` and ``mac``; others are left out.

    :raises roost.exception.Invalid: for a deleted network, or an address of another port
    :raises roost.exception.Conflict: for a port that another server has
    """
    for request in requests:
        if request.cidr:
            rows.use(session, str(request.network_id), uuids)
        if request.port_id and request.mac:
            ports.take(session, request.port_id, uuids[0])
        elif request.fixed_ip:
            _check_free(session, str(request.network_id), request.fixed_ip)


def _check_free(session: Session, network_id: str, address: str) -> None:
    plain = str(ipaddress.ip_address(address))
    if ports.has_address(session, network_id, plain):
        raise exception.Invalid(f"Fixed IP address {address} is already in use on a port.")


def _request(
    nic: dict[str, Any], known: Known, *, alone: bool, instance_uuid: str | None
) -> NetworkRequest:
    if nic.get("port"):
        return _of_port(nic, known, alone=alone, instance_uuid=instance_uuid)
    if "uuid" not in nic:
        raise exception.Invalid("Bad networks format: missing 'uuid'")
    network = known.network(nic["uuid"])
    address = nic.get("fixed_ip")
    if address is not None:
        _check_address(address, network, alone=alone)
    return NetworkRequest.of(**_named(network), fixed_ip=address, port_id=None, tag=nic.get("tag"))


def _of_port(
    nic: dict[str, Any], known: Known, *, alone: bool, instance_uuid: str | None
) -> NetworkRequest:
    port = known.ports[nic["port"]]
    if not alone:
        raise exception.Invalid(
            "Unable to launch multiple instances with a single configured port ID. Please launch"
            " your instance one by one with different ports."
        )
    if port.instance_uuid not in (None, instance_uuid):
        raise exception.Conflict(f"Port {port.id} is still in use.")
    return NetworkRequest.of(
        **_named(known.network(port.network_id)),
        fixed_ip=port.ip,
        port_id=port.id,
        mac=port.mac,
        tag=nic.get("tag"),
    )


def _named(network: LocalNetwork) -> dict[str, Any]:
    """Return the fields that identify a network; cells do not know those that users created."""
    if network.given_id is None:
        return {"network_id": network.id}
    return {"network_id": network.id, "network_name": network.name, "cidr": network.cidr}


def _check_address(address: str, network: LocalNetwork, *, alone: bool) -> None:
    if not alone:
        raise exception.Invalid("Unable to launch multiple instances with a single fixed_ip.")
    if ipaddress.ip_address(address) not in network.subnet:
        raise exception.Invalid(
            f"Fixed IP address {address} is not of the network {network.name}, {network.cidr}."
        )


def locality_of(
    requests: Iterable[NetworkRequest], known: Sequence[LocalNetwork]
) -> list[Locality]:
    """Return the labels of hosts that reach all networks of a server, the hard ones first.

    A request without a network gets the first one; networks of users have no labels. A label that
    one network requires and another prefers is hard.
    """
    by_id = {network.id: network for network in known}
    asked = [request.network_id or known[0].id for request in requests if known]
    chosen = [by_id[network_id] for network_id in asked if network_id in by_id]
    hard = dict.fromkeys(label for network in chosen for label in network.labels)
    soft = dict.fromkeys(label for network in chosen for label in network.preferred_labels)
    return [Locality.of(label=label, hard=label in hard) for label in dict.fromkeys([*hard, *soft])]
