"""Availability zones."""

from typing import Final

from roost.api.availability_zones import AvailabilityZones
from roost.api.policies import availability_zones as policies
from roost.api.route import Route, row

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-availability-zone",
        (AvailabilityZones, AvailabilityZones.list_brief),
        policies.LIST,
    ),
    row(
        "GET /v2.1/os-availability-zone/detail",
        (AvailabilityZones, AvailabilityZones.list_detailed),
        policies.DETAIL,
    ),
)
