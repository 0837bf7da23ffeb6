"""Hypervisors."""

from typing import Final

from roost.api.hypervisors import Hypervisors
from roost.api.policies import hypervisors as policies
from roost.api.route import Route, row
from roost.api.schemas import hypervisors as schemas

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-hypervisors",
        (Hypervisors, Hypervisors.list_brief),
        policies.LIST,
        query=schemas.LIST_QUERY,
    ),
    row(
        "GET /v2.1/os-hypervisors/detail",
        (Hypervisors, Hypervisors.list_detailed),
        policies.DETAIL,
        query=schemas.LIST_QUERY,
    ),
    row(
        "GET /v2.1/os-hypervisors/statistics",
        (Hypervisors, Hypervisors.statistics),
        policies.STATISTICS,
        until=87,
    ),
    row(
        "GET /v2.1/os-hypervisors/{hypervisor_id}",
        (Hypervisors, Hypervisors.show),
        policies.SHOW,
        query=schemas.SHOW_QUERY,
    ),
    row(
        "GET /v2.1/os-hypervisors/{hypervisor_id}/uptime",
        (Hypervisors, Hypervisors.uptime),
        policies.UPTIME,
        until=87,
    ),
    row(
        "GET /v2.1/os-hypervisors/{hypervisor_id}/search",
        (Hypervisors, Hypervisors.search),
        policies.SEARCH,
        until=52,
    ),
    row(
        "GET /v2.1/os-hypervisors/{hypervisor_id}/servers",
        (Hypervisors, Hypervisors.servers),
        policies.SERVERS,
        until=52,
    ),
)
