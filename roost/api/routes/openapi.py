"""The description of the whole API."""

from typing import Final

from roost.api.openapi import OpenApi
from roost.api.policies import openapi as policies
from roost.api.route import Route, row
from roost.api.schemas import openapi as schemas

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /openapi.json",
        (OpenApi, OpenApi.show),
        policies.SHOW,
        query=schemas.SHOW_QUERY,
    ),
)
