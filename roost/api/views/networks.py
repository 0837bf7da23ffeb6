"""Networks, subnets and ports as JSON, in the shapes of Network v2.0."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

from roost.db.api.networks import Network
from roost.networks import LocalNetwork


def _extension(alias: str, name: str, description: str, updated: str) -> dict[str, Any]:
    told = {"alias": alias, "name": name, "description": description}
    return {**told, "updated": f"{updated}T00:00:00-00:00", "links": []}


EXTENSIONS: Final = (
    _extension("security-group", "security-group", "Security groups.", "2012-10-05"),
    _extension(
        "standard-attr-tag",
        "Tags",
        "Networks, subnets and ports have tags, and lists find them by these.",
        "2017-01-01",
    ),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Port:
    """A port as the API level and the cells together know it; no host for who may not see it."""

    id: str
    project_id: str
    network_id: str
    name: str = ""
    description: str = ""
    ip: str
    mac: str
    instance_uuid: str | None
    host: str | None = None
    is_plugged: bool = False
    admin_state_up: bool = True
    tags: Sequence[str] = ()


def full(network: LocalNetwork | Network) -> dict[str, Any]:
    """Return a network; those of the options are everybody's."""
    made = network if isinstance(network, Network) else None
    project = made.project_id if made else ""
    return {
        "id": network.id,
        "name": network.name,
        "description": made.description if made else network.cidr,
        "status": "ACTIVE",
        "admin_state_up": made.admin_state_up if made else True,
        "shared": made.shared if made else True,
        "router:external": False,
        "mtu": 1500,
        "subnets": [subnet_id(network)] if network.cidr else [],
        "tenant_id": project,
        "project_id": project,
        "tags": list(made.tags) if made else [],
    }


def subnet_id(network: LocalNetwork | Network) -> str:
    return _local(network).subnet_id


def subnet(network: LocalNetwork | Network) -> dict[str, Any]:
    """Return the subnet of a network that has one."""
    made, local = network if isinstance(network, Network) else None, _local(network)
    project = made.project_id if made else ""
    return {
        "id": local.subnet_id,
        "name": (made.subnet_name if made else network.name) or "",
        "network_id": network.id,
        "cidr": local.cidr,
        "ip_version": local.subnet.version,
        "gateway_ip": local.gateway,
        "enable_dhcp": True,
        "dns_nameservers": [],
        "host_routes": [],
        "allocation_pools": [{"start": str(local.subnet[2]), "end": local.last}],
        "tenant_id": project,
        "project_id": project,
        "tags": list(made.subnet_tags) if made else [],
    }


def port(one: Port) -> dict[str, Any]:
    """Return a port."""
    subnet = LocalNetwork(name="", cidr="0.0.0.0/0", given_id=one.network_id).subnet_id
    return {
        "id": one.id,
        "name": one.name,
        "description": one.description,
        "network_id": one.network_id,
        "mac_address": one.mac,
        "fixed_ips": [{"subnet_id": subnet, "ip_address": one.ip}],
        "device_id": one.instance_uuid or "",
        "device_owner": "compute:nova" if one.instance_uuid else "",
        "status": "ACTIVE" if one.is_plugged and one.admin_state_up else "DOWN",
        "admin_state_up": one.admin_state_up,
        "security_groups": [],
        "allowed_address_pairs": [],
        "tenant_id": one.project_id,
        "project_id": one.project_id,
        "tags": list(one.tags),
        **({"binding:host_id": one.host} if one.host else {}),
    }


def _local(network: LocalNetwork | Network) -> LocalNetwork:
    if isinstance(network, LocalNetwork):
        return network
    return LocalNetwork(name=network.name, cidr=network.cidr or "", given_id=network.id)
