"""Which versions each API serves."""

from typing import Final

from roost.api.policies import versions as policies
from roost.api.route import Route, row
from roost.api.versions import Versions

ROUTES: Final[tuple[Route, ...]] = (
    row("GET /", (Versions, Versions.list_compute), policies.VERSIONS),
    row("GET /v2", (Versions, Versions.show_legacy_compute), policies.VERSIONS),
    row("GET /v2.1", (Versions, Versions.show_compute), policies.VERSIONS),
    row("GET /image", (Versions, Versions.list_image), policies.VERSIONS),
    row("GET /image/v2", (Versions, Versions.list_image), policies.VERSIONS),
    row("GET /network", (Versions, Versions.list_network), policies.VERSIONS),
    row("GET /network/v2.0", (Versions, Versions.show_network), policies.VERSIONS),
)
