"""Servers and what is done to them."""

from typing import Final

from roost.api.policies import servers as policies
from roost.api.route import Route, row
from roost.api.schemas import servers as schemas
from roost.api.schemas.server_actions import ACTION
from roost.api.server_actions import ServerActions
from roost.api.servers import Servers

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/servers",
        (Servers, Servers.list_brief),
        policies.LIST,
        query=schemas.LIST_QUERY,
    ),
    row(
        "POST /v2.1/servers",
        (Servers, Servers.create),
        policies.CREATE,
        body=schemas.CREATE,
        status=202,
    ),
    row(
        "GET /v2.1/servers/detail",
        (Servers, Servers.list_detailed),
        policies.DETAIL,
        query=schemas.LIST_QUERY,
    ),
    row("GET /v2.1/servers/{server_id}", (Servers, Servers.show), policies.SHOW),
    row(
        "PUT /v2.1/servers/{server_id}",
        (Servers, Servers.update),
        policies.UPDATE,
        body=schemas.UPDATE,
    ),
    row(
        "DELETE /v2.1/servers/{server_id}",
        (Servers, Servers.delete),
        policies.DELETE,
        status=204,
    ),
    row(
        "POST /v2.1/servers/{server_id}/action",
        (ServerActions, ServerActions.act),
        policies.ACT,
        body=ACTION,
        status=202,
        also=200,
    ),
)
