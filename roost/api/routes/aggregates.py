"""Aggregates of hosts."""

from typing import Final

from roost.api.aggregates import Aggregates
from roost.api.policies import aggregates as policies
from roost.api.route import Route, row
from roost.api.schemas import aggregates as schemas

ROUTES: Final[tuple[Route, ...]] = (
    row("GET /v2.1/os-aggregates", (Aggregates, Aggregates.list_all), policies.LIST),
    row(
        "POST /v2.1/os-aggregates",
        (Aggregates, Aggregates.create),
        policies.CREATE,
        body=schemas.CREATE,
    ),
    row(
        "GET /v2.1/os-aggregates/{aggregate_id}",
        (Aggregates, Aggregates.show),
        policies.SHOW,
    ),
    row(
        "PUT /v2.1/os-aggregates/{aggregate_id}",
        (Aggregates, Aggregates.update),
        policies.UPDATE,
        body=schemas.UPDATE,
    ),
    row(
        "DELETE /v2.1/os-aggregates/{aggregate_id}",
        (Aggregates, Aggregates.delete),
        policies.DELETE,
    ),
    row(
        "POST /v2.1/os-aggregates/{aggregate_id}/action",
        (Aggregates, Aggregates.act),
        policies.ACT,
        body=schemas.ACTION,
    ),
)
