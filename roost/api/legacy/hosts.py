"""Hosts (``/os-hosts``), until 2.42: daemons by host, and the usage of a host by project."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from roost import exception
from roost.api.compute.availability_zones import Zones
from roost.api.compute.hypervisors import amounts
from roost.api.compute.service_views import COMPUTE, zone
from roost.api.compute.services import ServiceReader, ServiceState
from roost.api.dependencies import Dependencies
from roost.api.policy import ADMIN, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import TEXT, always, of, query
from roost.db.cell import instance_locations
from roost.objects import Flavor, HostReport, ImageMeta, Service
from roost.objects.flavor import root_gb

_ROOT = "os_compute_api:os-hosts"


_WORD: Final[dict[str, Any]] = {
    "type": "string",
    "enum": ["enable", "disable", "Enable", "Disable", "ENABLE", "DISABLE"],
}
LIST_QUERY: Final = always(query({"zone": TEXT}))
UPDATE: Final = always({**of({"status": _WORD, "maintenance_mode": _WORD}), "minProperties": 1})


class Amount(NamedTuple):
    """CPUs, memory in MiB and disk in GiB."""

    cpu: int
    memory_mb: int
    disk_gb: int


Measure = Callable[[HostReport], Amount]


def brief(service: Service, zone: str) -> dict[str, Any]:
    """Return a daemon of the list; ``roost-cell-conductor`` is shown as a conductor."""
    return {"host_name": service.host, "service": service.binary.split("-")[-1], "zone": zone}


def resource(host: str, project: str, has: Amount) -> dict[str, Any]:
    """Return the usage of a host by a project, or one of the sums in brackets."""
    return {"resource": {"host": host, "project": project, **has._asdict()}}


def total(report: HostReport) -> Amount:
    has = amounts(report)
    return Amount(has["vcpus"], has["memory_mb"], has["local_gb"])


def used(report: HostReport) -> Amount:
    """Return the amounts in use now, with those that the host reserves."""
    has = amounts(report)
    return Amount(has["vcpus_used"], has["memory_mb_used"], has["local_gb_used"])


def of_server(flavor: Flavor, image: ImageMeta | None) -> Amount:
    disk_gb = root_gb(flavor, image) + flavor.ephemeral_gb
    return Amount(flavor.vcpus, flavor.memory_mb, disk_gb)


def plus(amounts: Iterable[Amount]) -> Amount:
    columns = list(zip(*amounts, strict=True)) or [(), (), ()]
    return Amount(*map(sum, columns))


_TOTAL: Final = "(total)"
_USED_NOW: Final = "(used_now)"
_USED_MAX: Final = "(used_max)"


class Hosts:
    """Handlers of ``/os-hosts``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._scheduler = dependencies.scheduler
        self._daemons = ServiceReader(dependencies)
        self._zones = Zones(dependencies)

    def list_all(self, call: Call) -> Answer:
        """List the daemons of all zones, or of one."""
        wanted, zones = call.query.one("zone") or None, self._zones.by_host()
        found = [(seen.service, zone(seen.service, zones)) for seen in self._daemons.find().seen]
        shown = [brief(one, its) for one, its in found if wanted in (None, its)]
        return Answer({"hosts": shown})

    def show(self, call: Call) -> Answer:
        """Show the total of a host, the amounts in use now, and those of its servers' flavors."""
        seen = self._compute(call)
        host = str(seen.service.host)
        reports = self._scheduler.list_hosts(call.context, host=host)
        sizes = seen.cell.database.query(instance_locations.sizes_on, host)
        taken = {_TOTAL: _sum(reports, total), _USED_NOW: _sum(reports, used)}
        shares = {**taken, **_by_project(sizes)}
        return Answer({"host": [resource(host, who, has) for who, has in shares.items()]})

    def refuse(self, call: Call) -> Answer:
        """Refuse the action: no hypervisor here can be switched on or off remotely."""
        self._compute(call)
        raise exception.Unsupported("The requested functionality is not supported.")

    def _compute(self, call: Call) -> ServiceState:
        """Return the compute of the host that the path names.

        :raises roost.exception.NotFound: when there is none
        """
        host = call.params["host_name"]
        found = self._daemons.find(host=host, binary=COMPUTE)
        if not found.seen:
            found.raise_if_unavailable()
            raise exception.NotFound(f"Compute host {host} could not be found.")
        return found.seen[0]


def _sum(reports: list[HostReport], what: Measure) -> Amount:
    return plus(what(report) for report in reports)


def _by_project(
    sizes: list[tuple[str, Flavor, ImageMeta | None]],
) -> dict[str, Amount]:
    """Return the amounts of all servers together, and by project."""
    by_project: dict[str, list[Amount]] = defaultdict(list)
    for project_id, flavor, image in sizes:
        by_project[project_id].append(of_server(flavor, image))
    shares = {project_id: plus(some) for project_id, some in by_project.items()}
    return {_USED_MAX: plus(shares.values()), **shares}


_LAST: Final = 42  # since 2.43 clients use os-services and os-hypervisors
_ALL: Final = "/v2.1/os-hosts"
_ONE: Final = f"{_ALL}/{{host_name}}"


def _row(operation: str, handler: Any, policy: Rule, **more: Any) -> Route:
    return row(operation, (Hosts, handler), policy, until=_LAST, **more)


ROUTES: Final[tuple[Route, ...]] = (
    _row(
        f"GET {_ALL}",
        Hosts.list_all,
        Rule(f"{_ROOT}:list", ADMIN, "List hosts, with their daemons.", formerly=_ROOT),
        query=LIST_QUERY,
    ),
    _row(
        f"GET {_ONE}",
        Hosts.show,
        Rule(f"{_ROOT}:show", ADMIN, "Show a host, and its usage by project.", formerly=_ROOT),
    ),
    _row(
        f"PUT {_ONE}",
        Hosts.refuse,
        Rule(f"{_ROOT}:update", ADMIN, "Enable a host, or maintain it.", formerly=_ROOT),
        body=UPDATE,
    ),
    _row(
        f"GET {_ONE}/startup",
        Hosts.refuse,
        Rule(f"{_ROOT}:start", ADMIN, "Start a host.", formerly=_ROOT),
    ),
    _row(
        f"GET {_ONE}/shutdown",
        Hosts.refuse,
        Rule(f"{_ROOT}:shutdown", ADMIN, "Shut a host down.", formerly=_ROOT),
    ),
    _row(
        f"GET {_ONE}/reboot",
        Hosts.refuse,
        Rule(f"{_ROOT}:reboot", ADMIN, "Reboot a host.", formerly=_ROOT),
    ),
)
