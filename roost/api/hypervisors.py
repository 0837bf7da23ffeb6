"""Hypervisors: the nodes that the schedulers know, with their services and servers."""

import itertools
import re
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.api import paging
from roost.api.call import Answer, Call
from roost.api.daemons import Daemons, Found
from roost.api.gather import Gatherer
from roost.api.parts import Parts
from roost.api.schemas.hypervisors import PAGES, UUIDS
from roost.api.validation import is_uuid
from roost.api.views import hypervisors as views
from roost.api.views.services import COMPUTE
from roost.db.cell import whereabouts
from roost.objects import HostReport

_NUMBER: Final = re.compile("[0-9]{1,10}", re.ASCII)
_PATTERN: Final = "hypervisor_hostname_pattern"
_NO_LINKS: Final[Mapping[str, Any]] = {}


class Hypervisors:
    """Handlers of ``/os-hypervisors``.

    The schedulers say which nodes there are and what they have; the cells which of them are up and
    enabled, and what is on them. Where a cell is away, the schedulers' word counts for its nodes.
    """

    def __init__(self, parts: Parts) -> None:
        self._scheduler = parts.scheduler
        self._cells = parts.cells
        self._daemons = Daemons(parts)
        self._gatherer = Gatherer(parts.executor, timeout=parts.options.cell_timeout)
        self._most = parts.options.max_limit
        self._parts = parts

    def list_brief(self, call: Call) -> Answer:
        return self._list(call, lambda node: views.brief(node, version=call.version))

    def list_detailed(self, call: Call) -> Answer:
        now = self._parts.now()
        return self._list(call, lambda node: views.full(node, version=call.version, now=now))

    def show(self, call: Call) -> Answer:
        (node,) = self._nodes([self._one(call)], servers=_with_servers(call))
        return Answer({"hypervisor": views.full(node, version=call.version, now=self._parts.now())})

    def uptime(self, call: Call) -> Answer:
        """Tell for how long a node is up (until 2.87).

        :raises roost.exception.Invalid: when it is down
        :raises roost.exception.VersionTooOld: when its driver does not tell
        """
        (node,) = self._nodes([self._one(call)])
        shown = views.with_uptime(node, version=call.version, now=self._parts.now())
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
        return Answer({"hypervisor_statistics": views.statistics(counted)})

    def search(self, call: Call) -> Answer:
        """List the nodes whose names have what the path says (until 2.52)."""
        return self._matching(call, servers=False)

    def servers(self, call: Call) -> Answer:
        """List the same with the servers on their hosts (until 2.52)."""
        return self._matching(call, servers=True)

    def _matching(self, call: Call, *, servers: bool) -> Answer:
        found = self._named(call, call.params["hypervisor_id"])
        nodes = self._nodes(found, servers=servers)
        return Answer({"hypervisors": [views.brief(node, version=call.version) for node in nodes]})

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
        """Return a page of nodes, and its links; it never ends between two nodes of one host."""
        limit = paging.limit(call, most=self._most)
        hosts = self._scheduler.all_hosts(
            call.context, marker=self._marker(call), page_size=limit + 1
        )
        found = _with_their_likes(hosts, limit)
        last = str(views.identity(found[-1], version=call.version)) if found else ""
        full = len(found) >= limit
        return found, paging.links(call, "hypervisors", full=full, last=last)

    def _marker(self, call: Call) -> str | None:
        """Return the host that a page begins after.

        :raises roost.exception.Invalid: when there is no node of the marker's id
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
        """Return a node by its id. That of a number is looked for among all."""
        if call.version >= UUIDS:
            if not is_uuid(identity):
                return None
            found = self._scheduler.list_hosts(call.context, node_uuid=str(uuid.UUID(identity)))
            return found[0] if found else None
        if not _NUMBER.fullmatch(identity):
            return None
        for host in self._scheduler.all_hosts(call.context):
            if views.identity(host, version=call.version) == int(identity):
                return host
        return None

    def _named(self, call: Call, pattern: str) -> list[HostReport]:
        """Return the nodes that have ``pattern`` in their names, whatever its case.

        :raises roost.exception.NotFound: when there is none
        """
        hosts = self._scheduler.all_hosts(call.context)
        found = [host for host in hosts if pattern.lower() in host.node.lower()]
        if not found:
            raise exception.NotFound(f"No hypervisor matching '{pattern}' could be found.")
        return found

    def _nodes(self, found: Sequence[HostReport], *, servers: bool = False) -> list[views.Node]:
        """Put together what schedulers and cells know of nodes."""
        one = found[0].host if len(found) == 1 else None
        daemons = self._daemons.find(host=one, binary=COMPUTE) if found else Found([], [])
        seen = {each.service.host: each for each in daemons.seen}
        names = self._servers(found) if servers else {}
        return [
            views.Node(
                report=host,
                service=seen[host.host].service if host.host in seen else None,
                up=seen[host.host].up if host.host in seen else host.up,
                servers=names.get(host.host),
            )
            for host in found
        ]

    def _servers(self, found: Sequence[HostReport]) -> dict[str, list[views.Name]]:
        """Return the servers by host, of the hosts whose cells tell them."""
        hosts: dict[str, set[str]] = defaultdict(set)
        for report in found:
            hosts[report.cell_uuid].add(report.host)
        cells = [cell for cell in self._cells.all() if cell.uuid in hosts]

        def of_cell(cell: Any) -> dict[str, list[views.Name]]:
            with cell.database.read() as session:
                return whereabouts.names_on(session, sorted(hosts[cell.uuid]))

        gathered = self._gatherer.from_each(cells, of_cell)
        return {host: names for _, some in gathered.answers for host, names in some.items()}


def _with_servers(call: Call) -> bool:
    return call.version >= UUIDS and bool(call.query.flag("with_servers"))


def _refuse_pages(call: Call) -> None:
    if "limit" in call.query or "marker" in call.query:
        raise exception.Invalid(f"Paging over hypervisors with the {_PATTERN} is not supported.")


def _with_their_likes(hosts: Iterator[HostReport], limit: int) -> list[HostReport]:
    """Return the first nodes, and all others of the last one's host."""
    found = list(itertools.islice(hosts, limit))
    others = itertools.takewhile(lambda node: node.host == found[-1].host, hosts)
    return found + list(others) if found else []
