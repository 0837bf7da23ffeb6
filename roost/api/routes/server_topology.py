"""The NUMA topology of a server."""

from typing import Final

from roost.api.policies import server_topology as policies
from roost.api.route import Route, row
from roost.api.server_topology import ServerTopology

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/servers/{server_id}/topology",
        (ServerTopology, ServerTopology.show),
        policies.SHOW,
        since=78,
    ),
)
