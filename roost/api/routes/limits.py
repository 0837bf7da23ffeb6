"""What a project may have."""

from typing import Final

from roost.api.limits import Limits
from roost.api.policies import limits as policies
from roost.api.route import Route, row
from roost.api.schemas import limits as schemas

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/limits",
        (Limits, Limits.show),
        policies.SHOW,
        query=schemas.SHOW_QUERY,
    ),
)
