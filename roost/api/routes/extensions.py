"""What used to be extensions of Compute."""

from typing import Final

from roost.api.extensions import Extensions
from roost.api.policies import extensions as policies
from roost.api.route import Route, row

ROUTES: Final[tuple[Route, ...]] = (
    row("GET /v2.1/extensions", (Extensions, Extensions.list_all), policies.READ),
    row("GET /v2.1/extensions/{alias}", (Extensions, Extensions.show), policies.READ),
)
