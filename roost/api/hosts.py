"""Hosts in the words of Compute before 2.43: daemons by host, and who uses what of one."""

from collections import defaultdict
from typing import Final

from roost import exception
from roost.api.call import Answer, Call
from roost.api.daemons import Daemons, Seen
from roost.api.parts import Parts
from roost.api.views import hosts as views
from roost.api.views.services import COMPUTE, zone
from roost.api.zones import Zones
from roost.db.cell import whereabouts
from roost.objects import Flavor, HostReport, ImageMeta

_TOTAL: Final = "(total)"
_USED_NOW: Final = "(used_now)"
_USED_MAX: Final = "(used_max)"


class Hosts:
    """Handlers of ``/os-hosts``."""

    def __init__(self, parts: Parts) -> None:
        self._scheduler = parts.scheduler
        self._daemons = Daemons(parts)
        self._zones = Zones(parts)

    def list_all(self, call: Call) -> Answer:
        """Answer one row for each daemon, of all zones or of one."""
        wanted, zones = call.query.one("zone") or None, self._zones.by_host()
        found = [(seen.service, zone(seen.service, zones)) for seen in self._daemons.find().seen]
        shown = [views.brief(one, its) for one, its in found if wanted in (None, its)]
        return Answer({"hosts": shown})

    def show(self, call: Call) -> Answer:
        """Answer what a host has, what is taken of it now, and what its servers may take."""
        seen = self._compute(call)
        host = str(seen.service.host)
        reports = self._scheduler.list_hosts(call.context, host=host)
        with seen.cell.database.read() as session:
            sizes = whereabouts.sizes_on(session, host)
        taken = {_TOTAL: _sum(reports, views.total), _USED_NOW: _sum(reports, views.used)}
        shares = {**taken, **_by_project(sizes)}
        return Answer({"host": [views.resource(host, who, has) for who, has in shares.items()]})

    def refuse(self, call: Call) -> Answer:
        """Leave a host as it is: no hypervisor here is switched on or off from afar."""
        self._compute(call)
        raise exception.Unsupported("The requested functionality is not supported.")

    def _compute(self, call: Call) -> Seen:
        """Return the compute of the host that the path names.

        :raises roost.exception.NotFound: when there is none
        """
        host = call.params["host_name"]
        found = self._daemons.find(host=host, binary=COMPUTE)
        if not found.seen:
            found.raise_if_away()
            raise exception.NotFound(f"Compute host {host} could not be found.")
        return found.seen[0]


def _sum(reports: list[HostReport], what: views.Measure) -> views.Amount:
    return views.plus(what(report) for report in reports)


def _by_project(
    sizes: list[tuple[str, Flavor, ImageMeta | None]],
) -> dict[str, views.Amount]:
    """Return what all servers together may take, and those of each project."""
    by_project: dict[str, list[views.Amount]] = defaultdict(list)
    for project_id, flavor, image in sizes:
        by_project[project_id].append(views.of_server(flavor, image))
    shares = {project_id: views.plus(some) for project_id, some in by_project.items()}
    return {_USED_MAX: views.plus(shares.values()), **shares}
