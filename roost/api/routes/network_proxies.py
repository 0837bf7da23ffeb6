"""Networks in the words of Compute before 2.36."""

from typing import Any, Final

from roost.api.network_proxies import FloatingIps, OsNetworks, TenantNetworks
from roost.api.policies import network_proxies as policies
from roost.api.route import Route, row
from roost.api.schemas import network_proxies as schemas

_LAST: Final = 35  # since 2.36 clients ask the network service
_NETWORKS: Final = "/v2.1/os-networks"
_OF_TENANT: Final = "/v2.1/os-tenant-networks"
_IPS: Final = "/v2.1/os-floating-ips"
_IP: Final = f"{_IPS}/{{floating_ip_id}}"


def _row(operation: str, handler: tuple[type[Any], Any], policy: str, **more: Any) -> Route:
    return row(operation, handler, policy, until=_LAST, **more)


ROUTES: Final[tuple[Route, ...]] = (
    _row(f"GET {_NETWORKS}", (OsNetworks, OsNetworks.list_all), policies.LIST),
    _row(f"GET {_NETWORKS}/{{network_id}}", (OsNetworks, OsNetworks.show), policies.SHOW),
    _row(f"GET {_OF_TENANT}", (TenantNetworks, TenantNetworks.list_all), policies.LIST_OF_TENANT),
    _row(
        f"GET {_OF_TENANT}/{{network_id}}",
        (TenantNetworks, TenantNetworks.show),
        policies.SHOW_OF_TENANT,
    ),
    _row("GET /v2.1/os-floating-ip-pools", (FloatingIps, FloatingIps.list_pools), policies.POOLS),
    _row(f"GET {_IPS}", (FloatingIps, FloatingIps.list_all), policies.LIST_FLOATING_IPS),
    _row(f"GET {_IP}", (FloatingIps, FloatingIps.show), policies.SHOW_FLOATING_IP),
    _row(
        f"POST {_IPS}",
        (FloatingIps, FloatingIps.create),
        policies.CREATE_FLOATING_IP,
        body=schemas.CREATE_FLOATING_IP,
    ),
    _row(
        f"DELETE {_IP}",
        (FloatingIps, FloatingIps.delete),
        policies.DELETE_FLOATING_IP,
        status=202,
    ),
)
