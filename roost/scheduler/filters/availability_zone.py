"""Availability zones."""

from roost.scheduler.filters import Refusal
from roost.scheduler.hosts import Hosts
from roost.scheduler.request import Request


class AvailabilityZoneFilter:
    """Keeps to the zone that was asked for, if one was."""

    name = "availability_zone"
    guards: tuple[str, ...] = ()

    def applies_to(self, request: Request) -> bool:
        return request.spec.availability_zone is not None

    def refuse(self, request: Request, hosts: Hosts) -> list[Refusal]:
        there = hosts.having("zone", str(request.spec.availability_zone))
        return [Refusal("in another availability zone", ~there)]
