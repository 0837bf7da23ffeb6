"""Servers' addresses."""

from typing import Final

from roost.api.policies import server_ips as policies
from roost.api.route import Route, row
from roost.api.server_ips import ServerIps

_ALL: Final = "/v2.1/servers/{server_id}/ips"

ROUTES: Final[tuple[Route, ...]] = (
    row(f"GET {_ALL}", (ServerIps, ServerIps.list_all), policies.LIST),
    row(f"GET {_ALL}/{{network_label}}", (ServerIps, ServerIps.show), policies.SHOW),
)
