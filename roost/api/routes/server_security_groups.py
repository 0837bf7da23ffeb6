"""The security groups of a server."""

from typing import Final

from roost.api.policies import server_security_groups as policies
from roost.api.route import Route, row
from roost.api.server_security_groups import ServerSecurityGroups

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/servers/{server_id}/os-security-groups",
        (ServerSecurityGroups, ServerSecurityGroups.list_all),
        policies.LIST,
    ),
)
