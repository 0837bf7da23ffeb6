"""Availability zones."""

from collections.abc import Hashable

from roost.scheduler.columns import Columns
from roost.scheduler.filters import Filter, Miss, Refusal
from roost.scheduler.request import Request


class AvailabilityZoneFilter(Filter):
    """Keeps to the zone that was asked for, if one was."""

    name = "availability_zone"

    def applies_to(self, request: Request) -> bool:
        return request.spec.availability_zone is not None

    def key(self, request: Request) -> Hashable:
        return request.spec.availability_zone

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        there = hosts.having("zone", str(request.spec.availability_zone))
        return [Refusal("in another availability zone", ~there)]

    def closest(self, request: Request, hosts: Columns) -> Miss | None:
        return Miss(0, f"it is in {hosts.name('zone', 0)}")
