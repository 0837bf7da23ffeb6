"""Networks as Compute's JSON before 2.36."""

import ipaddress
from typing import Any, Final

from roost.networks import LocalNetwork

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


def full(network: LocalNetwork, *, admin: bool) -> dict[str, Any]:
    """Return a network; what the local driver does not know is null.

    :param admin: with what only administrators are told
    """
    hidden = dict.fromkeys(_FOR_ADMINISTRATORS) if admin else {}
    return {"id": network.id, "label": network.name, **_addresses(network), **hidden}


def brief(network: LocalNetwork) -> dict[str, Any]:
    """Return a network as projects are told of it."""
    return {"cidr": network.cidr, "id": network.id, "label": network.name}


def _addresses(network: LocalNetwork) -> dict[str, str | None]:
    subnet, old = network.subnet, isinstance(network.subnet, ipaddress.IPv4Network)
    return {
        "broadcast": str(subnet.broadcast_address) if old else None,
        "cidr": network.cidr if old else None,
        "cidr_v6": None if old else network.cidr,
        "dns1": None,
        "dns2": None,
        "gateway": network.gateway if old else None,
        "gateway_v6": None if old else network.gateway,
        "netmask": str(subnet.netmask) if old else None,
        "netmask_v6": None if old else str(subnet.prefixlen),
    }
