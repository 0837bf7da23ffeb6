"""Daemons."""

from typing import Final

from roost.api.policies import services as policies
from roost.api.route import Route, row
from roost.api.schemas import services as schemas
from roost.api.services import Services

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-services",
        (Services, Services.list_all),
        policies.LIST,
        query=schemas.LIST_QUERY,
    ),
    row(
        "PUT /v2.1/os-services/{service_id}",
        (Services, Services.update_legacy),
        policies.UPDATE,
        body=schemas.LEGACY_UPDATE,
        until=52,
    ),
    row(
        "PUT /v2.1/os-services/{service_id}",
        (Services, Services.update),
        policies.UPDATE,
        body=schemas.UPDATE,
        since=53,
    ),
    row(
        "DELETE /v2.1/os-services/{service_id}",
        (Services, Services.delete),
        policies.DELETE,
        status=204,
    ),
)
