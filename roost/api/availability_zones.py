"""Availability zones: those of aggregates, and those that hosts name in their reports."""

from typing import Any, Final

from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.recent import Recent
from roost.api.views import availability_zones as views
from roost.api.views.services import COMPUTE
from roost.api.zones import Zones

SECONDS: Final = 3.0


class AvailabilityZones:
    """Handlers of ``/os-availability-zone``."""

    def __init__(self, parts: Parts) -> None:
        self._scheduler = parts.scheduler
        self._zones = Zones(parts)
        self._brief: Recent[dict[str, Any]] = Recent(seconds=SECONDS)
        self._compute = parts.options.daemon_names.get(COMPUTE, COMPUTE)

    def list_brief(self, call: Call) -> Answer:
        """Tell of the zones as they were some seconds ago: every user may ask, and often."""
        return Answer(self._brief.get(lambda: self._ask(call)))

    def _ask(self, call: Call) -> dict[str, Any]:
        return views.brief(self._scheduler.all_hosts(call.context), self._zones.by_host())

    def list_detailed(self, call: Call) -> Answer:
        hosts = self._scheduler.all_hosts(call.context)
        return Answer(views.full(hosts, self._zones.by_host(), compute=self._compute))
