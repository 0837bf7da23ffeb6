"""Availability zones, as the hosts' reports to the scheduler name them."""

from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import availability_zones as views


class AvailabilityZones:
    """Handlers of ``/os-availability-zone``."""

    def __init__(self, parts: Parts) -> None:
        self._scheduler = parts.scheduler

    def list_brief(self, call: Call) -> Answer:
        return Answer(views.brief(self._scheduler.all_hosts(call.context)))

    def list_detailed(self, call: Call) -> Answer:
        return Answer(views.full(self._scheduler.all_hosts(call.context)))
