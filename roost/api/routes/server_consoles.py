"""Consoles of servers with a screen."""

from typing import Final

from roost.api.policies import server_consoles as policies
from roost.api.route import Route, row
from roost.api.schemas import server_consoles as schemas
from roost.api.server_consoles import RemoteConsoles

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "POST /v2.1/servers/{server_id}/remote-consoles",
        (RemoteConsoles, RemoteConsoles.create),
        policies.CREATE,
        body=schemas.CREATE,
        since=6,
    ),
)
