"""Server groups."""

from typing import Final

from roost.api.policies import server_groups as policies
from roost.api.route import Route, row
from roost.api.schemas import server_groups as schemas
from roost.api.server_groups import ServerGroups

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-server-groups",
        (ServerGroups, ServerGroups.list_all),
        policies.LIST,
        query=schemas.LIST_QUERY,
    ),
    row(
        "POST /v2.1/os-server-groups",
        (ServerGroups, ServerGroups.create),
        policies.CREATE,
        body=schemas.CREATE,
    ),
    row(
        "GET /v2.1/os-server-groups/{server_group_id}",
        (ServerGroups, ServerGroups.show),
        policies.SHOW,
    ),
    row(
        "DELETE /v2.1/os-server-groups/{server_group_id}",
        (ServerGroups, ServerGroups.delete),
        policies.DELETE,
        status=204,
    ),
)
