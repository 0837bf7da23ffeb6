"""``network_data.json``: the interfaces of a guest, for it to set up before it can ask anybody."""

import ipaddress
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from roost.objects import Vif, VifAddress

Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network
_VLAN: Final = "vlan"
_TRUSTED: Final = "trusted"
_DIRECT: Final = "direct"  # the guest has a part of the card itself, and sees its VLAN


def of(vifs: Sequence[Vif]) -> dict[str, Any]:
    """Return links, networks and services, in the order of the interfaces."""
    found = [(vif, address) for vif in vifs for address in _addresses(vif)]
    networks = [_network(vif, address, number) for number, (vif, address) in enumerate(found)]
    servers = dict.fromkeys(each for _, address in found for each in address.dns)
    return {"links": [_link(vif) for vif in vifs], "networks": networks, "services": _dns(servers)}


def vlan(vif: Vif) -> int | None:
    """Return the VLAN that the guest sees its interface in; None: it sees none."""
    told = vif.details.get(_VLAN) if vif.vnic_type.startswith(_DIRECT) else None
    return int(json.loads(told)) if told else None


def is_trusted(vif: Vif) -> bool:
    """Whether the guest may change what the network believes of its interface."""
    return str(json.loads(vif.profile.get(_TRUSTED, "false"))).lower() == "true"


def _addresses(vif: Vif) -> list[VifAddress]:
    """Return all of them; one that was plugged before there could be several has its own fields."""
    if vif.addresses or not vif.ip:
        return list(vif.addresses)
    only = VifAddress.of(
        ip=vif.ip, subnet_id=vif.network_id, cidr=vif.cidr, gateway=vif.gateway, dhcp=False
    )
    return [only]


def _link(vif: Vif) -> dict[str, Any]:
    return {
        "id": _link_id(vif),
        "vif_id": vif.id,
        "type": vif.type or "phy",
        "mtu": vif.mtu,
        "ethernet_mac_address": vif.mac,
    }


def _link_id(vif: Vif) -> str:
    return f"tap{vif.id[:11]}"


def _network(vif: Vif, address: VifAddress, number: int) -> dict[str, Any]:
    """Return an address, or that a DHCP server gives it."""
    subnet = ipaddress.ip_network(address.cidr, strict=False)
    network = {
        "id": f"network{number}",
        "type": f"ipv{subnet.version}_dhcp" if address.dhcp else f"ipv{subnet.version}",
        "link": _link_id(vif),
        "network_id": vif.network_id,
    }
    return network if address.dhcp else network | _fixed(address, subnet)


def _fixed(address: VifAddress, subnet: Subnet) -> dict[str, Any]:
    return {
        "ip_address": address.ip,
        "netmask": str(subnet.netmask),
        "routes": list(_routes(address, subnet)),
        "services": _dns(address.dns),
    }


def _routes(address: VifAddress, subnet: Subnet) -> Iterator[dict[str, str]]:
    if address.gateway:
        anywhere = "::" if isinstance(subnet, ipaddress.IPv6Network) else "0.0.0.0"  # noqa: S104
        yield {"network": anywhere, "netmask": anywhere, "gateway": address.gateway}
    for route in address.routes:
        to = ipaddress.ip_network(str(route["destination"]), strict=False)
        yield {
            "network": str(to.network_address),
            "netmask": str(to.netmask),
            "gateway": str(route["nexthop"]),
        }


def _dns(servers: Sequence[str] | dict[str, None]) -> list[dict[str, str]]:
    return [{"type": "dns", "address": server} for server in servers]
