"""Hypervisors: the nodes that the schedulers know, with their services and servers.

The nodes of an unavailable cell are shown as the schedulers know them.
"""

import dataclasses
import datetime
import itertools
import json
import re
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.api import pagination
from roost.api.compute import service_views
from roost.api.compute.service_views import COMPUTE
from roost.api.compute.services import FoundServices, ServiceReader
from roost.api.dependencies import Dependencies
from roost.api.gather import Gatherer
from roost.api.policy import ADMIN, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import BOOLEAN, PAGE, STRICT_QUERIES, TEXT, Schema, is_uuid, query
from roost.cells import Cell
from roost.db.cell import instance_locations
from roost.objects import HostReport, Service

_ROOT = "os_compute_api:os-hypervisors"


PAGES: Final = 33
UUIDS: Final = 53  # since 2.53 ids are uuids, and queries replace paths

_SERVERS: dict[str, Any] = {"with_servers": {"type": "string", "enum": BOOLEAN["enum"]}}
_LIST: dict[str, Any] = {**PAGE, **_SERVERS, "hypervisor_hostname_pattern": TEXT}

LIST_QUERY: Final = Schema(
    {
        1: query({}),
        PAGES: query(PAGE),
        UUIDS: query(_LIST),
        STRICT_QUERIES: query(_LIST, strict=True),
    }
)
SHOW_QUERY: Final = Schema({1: query({}), UUIDS: query(_SERVERS, strict=True)})


CPU_INFO: Final = 28  # since 2.28 an object, a string before
ALWAYS_SERVERS: Final = 75  # before, a hypervisor without servers had no such field
NO_AMOUNTS: Final = 88  # since 2.88 only Placement shows amounts, and the uptime is a field
_SUMS: Final = (
    "vcpus", "memory_mb", "local_gb", "vcpus_used", "memory_mb_used", "local_gb_used",
    "free_ram_mb", "free_disk_gb", "current_workload", "running_vms", "disk_available_least",
)  # fmt: skip
Name = tuple[str, str]
"""The uuid and the name of a server."""


@dataclasses.dataclass(frozen=True)
class HypervisorNode:
    """A node as the schedulers know it, and its service if its cell is available.

    ``servers`` are those on its host; None: not requested, or its cell is unavailable.
    """

    report: HostReport
    service: Service | None
    up: bool
    servers: Sequence[Name] | None = None

    @property
    def enabled(self) -> bool:
        return self.report.enabled if self.service is None else not self.service.disabled


def shown_id(node: HostReport, *, version: int) -> str | int:
    """Return the id of a node: its uuid, or before 2.53 a small number derived from that."""
    return node.node_uuid if version >= UUIDS else service_views.small(node.node_uuid)


def brief(node: HypervisorNode, *, version: int) -> dict[str, Any]:
    """Return a hypervisor of a plain list."""
    shown: dict[str, Any] = {
        "id": shown_id(node.report, version=version),
        "hypervisor_hostname": node.report.node,
        "state": "up" if node.up else "down",
        "status": "enabled" if node.enabled else "disabled",
    }
    if node.servers or (node.servers is not None and version >= ALWAYS_SERVERS):
        shown["servers"] = [{"uuid": uuid, "name": name} for uuid, name in node.servers]
    return shown


def full(node: HypervisorNode, *, version: int, now: datetime.datetime) -> dict[str, Any]:
    """Return a hypervisor with details."""
    report = node.report
    shown = {
        **brief(node, version=version),
        "host_ip": report.host_ip,
        "hypervisor_type": report.hypervisor_type,
        "hypervisor_version": report.hypervisor_version,
        "service": _service(node, version=version),
    }
    if version >= NO_AMOUNTS:
        return {**shown, "uptime": uptime(node, now=now)}
    return {**shown, **amounts(report), "cpu_info": _cpu_info(report, version=version)}


def with_uptime(node: HypervisorNode, *, version: int, now: datetime.datetime) -> dict[str, Any]:
    """Return a hypervisor and its uptime, as before 2.88."""
    return {**brief(node, version=version), "uptime": uptime(node, now=now)}


def uptime(node: HypervisorNode, *, now: datetime.datetime) -> str | None:
    """Format the uptime of a node as ``uptime`` does; None: unknown."""
    booted_at = node.report.booted_at
    if booted_at is None or not node.up:
        return None
    minutes = max(0, int((now - booted_at).total_seconds() // 60))
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    spent = f"{days} {'day' if days == 1 else 'days'}, " if days else ""
    text = f" {now.astimezone(datetime.UTC):%H:%M:%S} up {spent}{hours:2}:{minutes:02}"
    return text + _load(node.report)


def _load(report: HostReport) -> str:
    """Format the number of users and the load average of a node; empty if it reports none."""
    if not report.load_average:
        return ""
    averages = ", ".join(f"{average:.2f}" for average in report.load_average)
    return f", {report.users:2} user{'' if report.users == 1 else 's'},  load average: {averages}"


def statistics(hosts: Iterable[HostReport]) -> dict[str, int]:
    """Sum up the amounts of hosts."""
    total = dict.fromkeys(("count", *_SUMS), 0)
    for host in hosts:
        has = amounts(host)
        total = {name: value + has.get(name, 1) for name, value in total.items()}
    return total


def amounts(host: HostReport) -> dict[str, int]:
    """Return the amounts of a node; reserved amounts count as used."""
    cpus, memory, disk = (
        sum(host.amount(each) for each in classes)
        for classes in (("VCPU", "PCPU"), ("MEMORY_MB",), ("DISK_GB",))
    )
    cpus_used, memory_used, disk_used = (
        sum(host.amount(each, "used") + host.amount(each, "reserved") for each in classes)
        for classes in (("VCPU", "PCPU"), ("MEMORY_MB",), ("DISK_GB",))
    )
    return {
        "vcpus": cpus,
        "memory_mb": memory,
        "local_gb": disk,
        "vcpus_used": cpus_used,
        "memory_mb_used": memory_used,
        "local_gb_used": disk_used,
        "free_ram_mb": memory - memory_used,
        "free_disk_gb": disk - disk_used,
        "current_workload": host.io_operations,
        "running_vms": host.instances_used,
        "disk_available_least": disk - disk_used,
    }


def _cpu_info(host: HostReport, *, version: int) -> str | dict[str, Any]:
    """Return the CPU info that a host reports; empty if that is not a JSON object."""
    try:
        found = json.loads(host.cpu_info)
    except ValueError:
        found = None
    info = found if isinstance(found, dict) else {}
    return info if version >= CPU_INFO else json.dumps(info)


def _service(node: HypervisorNode, *, version: int) -> dict[str, Any]:
    """Return the service of a node; only its host while its cell is unavailable."""
    service = node.service
    if service is None:
        return {"host": node.report.host, "id": None, "disabled_reason": None}
    return {
        "host": service.host,
        "id": service.uuid if version >= UUIDS else service_views.number(service),
        "disabled_reason": service.disabled_reason,
    }


_NUMBER: Final = re.compile("[0-9]{1,10}", re.ASCII)
_PATTERN: Final = "hypervisor_hostname_pattern"
_NO_LINKS: Final[Mapping[str, Any]] = {}


class Hypervisors:
    """Handlers of ``/os-hypervisors``.

    The schedulers know the nodes and their amounts; the cells know which are up and enabled, and
    their servers. While a cell is unavailable, its nodes are shown from the schedulers' data.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self._scheduler = dependencies.scheduler
        self._cells = dependencies.cells
        self._daemons = ServiceReader(dependencies)
        self._gatherer = Gatherer(dependencies.executor, timeout=dependencies.options.cell_timeout)
        self._most = dependencies.options.max_limit
        self._dependencies = dependencies

    def list_brief(self, call: Call) -> Answer:
        return self._list(call, lambda node: brief(node, version=call.version))

    def list_detailed(self, call: Call) -> Answer:
        now = self._dependencies.now()
        return self._list(call, lambda node: full(node, version=call.version, now=now))

    def show(self, call: Call) -> Answer:
        (node,) = self._nodes([self._one(call)], servers=_with_servers(call))
        return Answer(
            {"hypervisor": full(node, version=call.version, now=self._dependencies.now())}
        )

    def uptime(self, call: Call) -> Answer:
        """Return the uptime of a node (until 2.87).

        :raises roost.exception.Invalid: when it is down
        :raises roost.exception.VersionTooOld: when its driver does not report an uptime
        """
        (node,) = self._nodes([self._one(call)])
        shown = with_uptime(node, version=call.version, now=self._dependencies.now())
        if not node.up:
            raise exception.Invalid(
                f"Compute service of {node.report.host} is unavailable at this time."
            )
        if shown["uptime"] is None:
            raise exception.VersionTooOld("Virt driver does not implement uptime function.")
        return Answer({"hypervisor": shown})

    def statistics(self, call: Call) -> Answer:
        """Sum up the nodes that are not disabled (until 2.87)."""
        nodes = self._nodes(list(self._scheduler.all_hosts(call.context)))
        counted = [node.report for node in nodes if node.enabled]
        return Answer({"hypervisor_statistics": statistics(counted)})

    def search(self, call: Call) -> Answer:
        """List the nodes whose names contain the pattern of the path (until 2.52)."""
        return self._matching(call, servers=False)

    def servers(self, call: Call) -> Answer:
        """List the nodes that :meth:`search` finds, with their servers (until 2.52)."""
        return self._matching(call, servers=True)

    def _matching(self, call: Call, *, servers: bool) -> Answer:
        found = self._named(call, call.params["hypervisor_id"])
        nodes = self._nodes(found, servers=servers)
        return Answer({"hypervisors": [brief(node, version=call.version) for node in nodes]})

    def _list(self, call: Call, view: Any) -> Answer:
        pattern = call.query.one(_PATTERN) if call.version >= UUIDS else None
        if pattern is not None:
            _refuse_pages(call)
            found, links = self._named(call, pattern), _NO_LINKS
        elif call.version >= PAGES:
            found, links = self._page(call)
        else:
            found, links = list(self._scheduler.all_hosts(call.context)), _NO_LINKS
        nodes = self._nodes(found, servers=_with_servers(call))
        return Answer({"hypervisors": [view(node) for node in nodes], **links})

    def _page(self, call: Call) -> tuple[list[HostReport], Mapping[str, Any]]:
        """Return a page of nodes and its links; nodes of one host are on the same page."""
        limit = pagination.limit(call, most=self._most)
        hosts = self._scheduler.all_hosts(
            call.context, marker=self._marker(call), page_size=limit + 1
        )
        found = _with_their_likes(hosts, limit)
        last = str(shown_id(found[-1], version=call.version)) if found else ""
        full = len(found) >= limit
        return found, pagination.links(call, "hypervisors", full=full, last=last)

    def _marker(self, call: Call) -> str | None:
        """Return the host that a page begins after.

        :raises roost.exception.Invalid: when no node has the marker as its id
        """
        marker = call.query.one("marker")
        if not marker:
            return None
        found = self._find(call, marker)
        if found is None:
            raise exception.Invalid(f"Marker {marker} could not be found.")
        return str(found.host)

    def _one(self, call: Call) -> HostReport:
        """Return the node that the path names.

        :raises roost.exception.NotFound: when there is none
        :raises roost.exception.Invalid: since 2.53, when that is no uuid
        """
        asked = call.params["hypervisor_id"]
        if call.version >= UUIDS and not is_uuid(asked):
            raise exception.Invalid(f"Invalid uuid {asked}")
        found = self._find(call, asked)
        if found is None:
            raise exception.NotFound(f"Hypervisor with ID '{asked}' could not be found.")
        return found

    def _find(self, call: Call, identity: str) -> HostReport | None:
        """Return a node by its id; for a number, search all nodes."""
        if call.version >= UUIDS:
            if not is_uuid(identity):
                return None
            found = self._scheduler.list_hosts(call.context, node_uuid=str(uuid.UUID(identity)))
            return found[0] if found else None
        if not _NUMBER.fullmatch(identity):
            return None
        for host in self._scheduler.all_hosts(call.context):
            if shown_id(host, version=call.version) == int(identity):
                return host
        return None

    def _named(self, call: Call, pattern: str) -> list[HostReport]:
        """Return the nodes that have ``pattern`` in their names, ignoring case.

        :raises roost.exception.NotFound: when there is none
        """
        hosts = self._scheduler.all_hosts(call.context)
        found = [host for host in hosts if pattern.lower() in host.node.lower()]
        if not found:
            raise exception.NotFound(f"No hypervisor matching '{pattern}' could be found.")
        return found

    def _nodes(self, found: Sequence[HostReport], *, servers: bool = False) -> list[HypervisorNode]:
        """Join the data of schedulers and cells about nodes."""
        one = found[0].host if len(found) == 1 else None
        daemons = self._daemons.find(host=one, binary=COMPUTE) if found else FoundServices([], [])
        seen = {each.service.host: each for each in daemons.seen}
        names = self._servers(found) if servers else {}
        return [
            HypervisorNode(
                report=host,
                service=seen[host.host].service if host.host in seen else None,
                up=seen[host.host].up if host.host in seen else host.up,
                servers=names.get(host.host),
            )
            for host in found
        ]

    def _servers(self, found: Sequence[HostReport]) -> dict[str, list[Name]]:
        """Return the servers by host, of the hosts whose cells are available."""
        hosts: dict[str, set[str]] = defaultdict(set)
        for report in found:
            hosts[report.cell_uuid].add(report.host)
        cells = [cell for cell in self._cells.all() if cell.uuid in hosts]

        def of_cell(cell: Cell) -> dict[str, list[Name]]:
            return cell.database.query(instance_locations.names_on, sorted(hosts[cell.uuid]))

        gathered = self._gatherer.from_each(cells, of_cell)
        return {host: names for _, some in gathered.answers for host, names in some.items()}


def _with_servers(call: Call) -> bool:
    return call.version >= UUIDS and bool(call.query.flag("with_servers"))


def _refuse_pages(call: Call) -> None:
    if "limit" in call.query or "marker" in call.query:
        raise exception.Invalid(f"Paging over hypervisors with the {_PATTERN} is not supported.")


def _with_their_likes(hosts: Iterator[HostReport], limit: int) -> list[HostReport]:
    """Return the first ``limit`` nodes, and the others on the host of the last one."""
    found = list(itertools.islice(hosts, limit))
    others = itertools.takewhile(lambda node: node.host == found[-1].host, hosts)
    return found + list(others) if found else []


ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-hypervisors",
        (Hypervisors, Hypervisors.list_brief),
        Rule(f"{_ROOT}:list", ADMIN, "List hypervisors.", formerly=_ROOT),
        query=LIST_QUERY,
    ),
    row(
        "GET /v2.1/os-hypervisors/detail",
        (Hypervisors, Hypervisors.list_detailed),
        Rule(f"{_ROOT}:list-detail", ADMIN, "List hypervisors with details.", formerly=_ROOT),
        query=LIST_QUERY,
    ),
    row(
        "GET /v2.1/os-hypervisors/statistics",
        (Hypervisors, Hypervisors.statistics),
        Rule(f"{_ROOT}:statistics", ADMIN, "Sum up all hypervisors.", formerly=_ROOT),
        until=87,
    ),
    row(
        "GET /v2.1/os-hypervisors/{hypervisor_id}",
        (Hypervisors, Hypervisors.show),
        Rule(f"{_ROOT}:show", ADMIN, "Show a hypervisor.", formerly=_ROOT),
        query=SHOW_QUERY,
    ),
    row(
        "GET /v2.1/os-hypervisors/{hypervisor_id}/uptime",
        (Hypervisors, Hypervisors.uptime),
        Rule(f"{_ROOT}:uptime", ADMIN, "Show the uptime of a hypervisor.", formerly=_ROOT),
        until=87,
    ),
    row(
        "GET /v2.1/os-hypervisors/{hypervisor_id}/search",
        (Hypervisors, Hypervisors.search),
        Rule(f"{_ROOT}:search", ADMIN, "Search hypervisors by name.", formerly=_ROOT),
        until=52,
    ),
    row(
        "GET /v2.1/os-hypervisors/{hypervisor_id}/servers",
        (Hypervisors, Hypervisors.servers),
        Rule(f"{_ROOT}:servers", ADMIN, "List the servers of hypervisors by name.", formerly=_ROOT),
        until=52,
    ),
)
