"""What neighbours tell of servers."""

from typing import Final

from roost.api.policies import server_external_events as policies
from roost.api.route import Route, row
from roost.api.schemas import server_external_events as schemas
from roost.api.server_external_events import ServerExternalEvents

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "POST /v2.1/os-server-external-events",
        (ServerExternalEvents, ServerExternalEvents.create),
        policies.CREATE,
        body=schemas.CREATE,
        also=207,
    ),
)
