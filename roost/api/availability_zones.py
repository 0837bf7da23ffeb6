"""Availability zones: those of aggregates, and those that hosts name in their reports."""

from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import availability_zones as views
from roost.api.zones import Zones


class AvailabilityZones:
    """Handlers of ``/os-availability-zone``."""

    def __init__(self, parts: Parts) -> None:
        self._scheduler = parts.scheduler
        self._zones = Zones(parts)

    def list_brief(self, call: Call) -> Answer:
        return Answer(views.brief(self._scheduler.all_hosts(call.context), self._zones.by_host()))

    def list_detailed(self, call: Call) -> Answer:
        return Answer(views.full(self._scheduler.all_hosts(call.context), self._zones.by_host()))
