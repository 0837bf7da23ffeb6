"""The diagnostics of a server."""

from typing import Final

from roost.api.policies import server_diagnostics as policies
from roost.api.route import Route, row
from roost.api.server_diagnostics import ServerDiagnostics

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/servers/{server_id}/diagnostics",
        (ServerDiagnostics, ServerDiagnostics.show),
        policies.SHOW,
    ),
)
