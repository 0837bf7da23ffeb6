"""The networks of a new server, resolved to what the hosts understand."""

import ipaddress
from collections.abc import Sequence
from typing import Any

from roost import exception
from roost.networks import LocalNetwork
from roost.objects import NetworkRequest


def networks_of(
    asked: dict[str, Any], known: Sequence[LocalNetwork], *, alone: bool
) -> list[NetworkRequest]:
    """Return the interfaces that a create asks for; none for ``"none"``.

    Left out, empty or ``"auto"`` means one interface on whichever network there is.

    :param alone: whether it is about one server, which may then have an address of its choice
    :raises roost.exception.Invalid: for unknown networks, and addresses that cannot be had
    """
    wanted: Any = asked.get("networks") or "auto"
    if wanted == "none":
        return []
    if wanted == "auto":
        return [NetworkRequest(network_id=None, fixed_ip=None, port_id=None, tag=None)]
    by_id = {network.id: network for network in known}
    return [_request(nic, by_id, alone=alone) for nic in wanted]


def _request(nic: dict[str, Any], by_id: dict[str, LocalNetwork], *, alone: bool) -> NetworkRequest:
    if nic.get("port"):
        raise exception.Invalid(f"Port {nic['port']} could not be found: name a network instead.")
    if "uuid" not in nic:
        raise exception.Invalid("Bad networks format: missing 'uuid'")
    network = by_id.get(nic["uuid"])
    if network is None:
        raise exception.Invalid(f"Network {nic['uuid']} could not be found.")
    address = nic.get("fixed_ip")
    if address is not None:
        _check_address(address, network, alone=alone)
    return NetworkRequest(network_id=network.id, fixed_ip=address, port_id=None, tag=nic.get("tag"))


def _check_address(address: str, network: LocalNetwork, *, alone: bool) -> None:
    if not alone:
        raise exception.Invalid("Unable to launch multiple instances with a single fixed_ip.")
    if ipaddress.ip_address(address) not in network.subnet:
        raise exception.Invalid(
            f"Fixed IP address {address} is not of the network {network.name}, {network.cidr}."
        )
