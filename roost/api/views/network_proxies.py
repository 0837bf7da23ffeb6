"""Networks as Compute's JSON before 2.36."""

import ipaddress
from typing import Any, Final

from roost.api.networking.proxied import FloatingIp, ProxiedNetwork, ProxiedSubnet

_FOR_ADMINISTRATORS: Final = (
    "bridge",
    "bridge_interface",
    "created_at",
    "deleted",
    "deleted_at",
    "dhcp_server",
    "dhcp_start",
    "enable_dhcp",
    "host",
    "injected",
    "mtu",
    "multi_host",
    "priority",
    "project_id",
    "rxtx_base",
    "share_address",
    "updated_at",
    "vlan",
    "vpn_private_address",
    "vpn_public_address",
    "vpn_public_port",
)


def full(network: ProxiedNetwork, *, admin: bool) -> dict[str, Any]:
    """Return a network; what networks do not tell any more is null.

    :param admin: with what only administrators are told
    """
    hidden = dict.fromkeys(_FOR_ADMINISTRATORS) if admin else {}
    return {"id": network.id, "label": network.label, **_addresses(network), **hidden}


def brief(network: ProxiedNetwork) -> dict[str, Any]:
    """Return a network as projects are told of it; no block of addresses is the word "None"."""
    cidr = network.subnets[0].cidr if network.subnets else None
    return {"cidr": str(cidr), "id": network.id, "label": network.label}


def floating_ip(one: FloatingIp) -> dict[str, Any]:
    return {
        "id": one.id,
        "ip": one.address,
        "pool": one.pool,
        "fixed_ip": one.fixed_address,
        "instance_id": one.instance_uuid,
    }


def _addresses(network: ProxiedNetwork) -> dict[str, str | None]:
    old, new = _first(network, 4), _first(network, 6)
    ipv4 = ipaddress.ip_network(old.cidr) if old else None
    dns = [*(old.dns if old else ()), None, None]
    return {
        "broadcast": str(ipv4.broadcast_address) if ipv4 else None,
        "cidr": old.cidr if old else None,
        "cidr_v6": new.cidr if new else None,
        "dns1": dns[0],
        "dns2": dns[1],
        "gateway": old.gateway if old else None,
        "gateway_v6": new.gateway if new else None,
        "netmask": str(ipv4.netmask) if ipv4 else None,
        "netmask_v6": str(ipaddress.ip_network(new.cidr).prefixlen) if new else None,
    }


def _first(network: ProxiedNetwork, version: int) -> ProxiedSubnet | None:
    """Return the first subnet of a version of IP."""
    of_version = (
        one for one in network.subnets if ipaddress.ip_network(one.cidr).version == version
    )
    return next(of_version, None)
