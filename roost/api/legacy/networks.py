"""Network proxies, until 2.35: networks, floating IPs and their pools, in Compute's format."""

import ipaddress
from typing import Any, Final

from roost.api.dependencies import Dependencies
from roost.api.networking.proxied import FloatingIp, ProxiedNetwork, ProxiedSubnet
from roost.api.policy import ANYBODY, MEMBER, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import OPTIONAL_TEXT, always

_VIEW = "os_compute_api:os-networks:view"
_TENANT = "os_compute_api:os-tenant-networks"
_FLOATING = "os_compute_api:os-floating-ips"


CREATE_FLOATING_IP: Final = always(
    {
        "type": ["object", "null"],
        "properties": {"pool": OPTIONAL_TEXT},
        "additionalProperties": False,
    }
)


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
    """Return a network; fields that networks no longer have are null.

    :param admin: with the fields for administrators only
    """
    hidden = dict.fromkeys(_FOR_ADMINISTRATORS) if admin else {}
    return {"id": network.id, "label": network.label, **_addresses(network), **hidden}


def brief(network: ProxiedNetwork) -> dict[str, Any]:
    """Return a network as projects see it; a missing ``cidr`` is the string "None"."""
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


class _Proxies:
    """The networks of the network driver that the caller may see."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._proxies = dependencies.networking.proxies


class OsNetworks(_Proxies):
    """Handlers of ``/os-networks``."""

    def list_all(self, call: Call) -> Answer:
        admin, found = bool(call.context.is_admin), self._proxies.networks(call)
        return Answer({"networks": [full(one, admin=admin) for one in found]})

    def show(self, call: Call) -> Answer:
        found = self._proxies.network(call, call.params["network_id"])
        return Answer({"network": full(found, admin=bool(call.context.is_admin))})


class TenantNetworks(_Proxies):
    """Handlers of ``/os-tenant-networks``."""

    def list_all(self, call: Call) -> Answer:
        return Answer({"networks": [brief(one) for one in self._proxies.networks(call)]})

    def show(self, call: Call) -> Answer:
        found = self._proxies.network(call, call.params["network_id"])
        return Answer({"network": brief(found)})


class FloatingIps(_Proxies):
    """Handlers of ``/os-floating-ips`` and ``/os-floating-ip-pools``."""

    def list_all(self, call: Call) -> Answer:
        found = self._proxies.floating_ips(call)
        return Answer({"floating_ips": [floating_ip(one) for one in found]})

    def list_pools(self, call: Call) -> Answer:
        return Answer({"floating_ip_pools": [{"name": one} for one in self._proxies.pools(call)]})

    def show(self, call: Call) -> Answer:
        found = self._proxies.floating_ip(call, call.params["floating_ip_id"])
        return Answer({"floating_ip": floating_ip(found)})

    def create(self, call: Call) -> Answer:
        made = self._proxies.take(call, (call.body or {}).get("pool"))
        return Answer({"floating_ip": floating_ip(made)})

    def delete(self, call: Call) -> Answer:
        self._proxies.give_back(call, call.params["floating_ip_id"])
        return Answer()


_LAST: Final = 35  # since 2.36 clients use the network service
_NETWORKS: Final = "/v2.1/os-networks"
_OF_TENANT: Final = "/v2.1/os-tenant-networks"
_IPS: Final = "/v2.1/os-floating-ips"
_IP: Final = f"{_IPS}/{{floating_ip_id}}"


def _row(operation: str, handler: tuple[type[Any], Any], policy: Rule, **more: Any) -> Route:
    return row(operation, handler, policy, until=_LAST, **more)


ROUTES: Final[tuple[Route, ...]] = (
    _row(
        f"GET {_NETWORKS}",
        (OsNetworks, OsNetworks.list_all),
        Rule("os_compute_api:os-networks:list", READER, "List networks.", formerly=_VIEW),
    ),
    _row(
        f"GET {_NETWORKS}/{{network_id}}",
        (OsNetworks, OsNetworks.show),
        Rule("os_compute_api:os-networks:show", READER, "Show a network.", formerly=_VIEW),
    ),
    _row(
        f"GET {_OF_TENANT}",
        (TenantNetworks, TenantNetworks.list_all),
        Rule(
            "os_compute_api:os-tenant-networks:list",
            READER,
            "List a project's networks.",
            formerly=_TENANT,
        ),
    ),
    _row(
        f"GET {_OF_TENANT}/{{network_id}}",
        (TenantNetworks, TenantNetworks.show),
        Rule(
            "os_compute_api:os-tenant-networks:show",
            READER,
            "Show a network of a project.",
            formerly=_TENANT,
        ),
    ),
    _row(
        "GET /v2.1/os-floating-ip-pools",
        (FloatingIps, FloatingIps.list_pools),
        Rule(
            "os_compute_api:os-floating-ip-pools", ANYBODY, "List the pools of floating addresses."
        ),
    ),
    _row(
        f"GET {_IPS}",
        (FloatingIps, FloatingIps.list_all),
        Rule(
            "os_compute_api:os-floating-ips:list",
            READER,
            "List floating addresses.",
            formerly=_FLOATING,
        ),
    ),
    _row(
        f"GET {_IP}",
        (FloatingIps, FloatingIps.show),
        Rule(
            "os_compute_api:os-floating-ips:show",
            READER,
            "Show a floating address.",
            formerly=_FLOATING,
        ),
    ),
    _row(
        f"POST {_IPS}",
        (FloatingIps, FloatingIps.create),
        Rule(
            "os_compute_api:os-floating-ips:create",
            MEMBER,
            "Allocate a floating address.",
            formerly=_FLOATING,
        ),
        body=CREATE_FLOATING_IP,
    ),
    _row(
        f"DELETE {_IP}",
        (FloatingIps, FloatingIps.delete),
        Rule(
            "os_compute_api:os-floating-ips:delete",
            MEMBER,
            "Release a floating address.",
            formerly=_FLOATING,
        ),
        status=202,
    ),
)
