"""Servers: list, show, create, update, delete; their addresses (``ips``) and NUMA topology.

A server that was created in an availability zone is pinned to it: the pin is the zone of its
request spec. An unpinned server may be pinned to the zone that it is in, and to no other; not while
it moves. If its move to that zone is reverted, it is not pinned any more.
"""

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any, Final

from roost import exception
from roost.api import pagination
from roost.api.compute import flavors
from roost.api.compute import server_groups as compute_server_groups
from roost.api.dependencies import Dependencies
from roost.api.gather import Gatherer
from roost.api.locator import ServerLocator, ServerRef, missing
from roost.api.policy import ADMIN, MEMBER, READER, Rule, any_of
from roost.api.request import Answer, Call, short_ip, truth
from roost.api.route import Route, row
from roost.api.servers import actions, lists, policies, schemas, views
from roost.api.servers.actions import ACTIONS, ServerActions
from roost.api.servers.create import ServerCreate
from roost.api.servers.delete import ServerDelete
from roost.api.servers.lists import ServerLists
from roost.api.servers.views import plain_addresses, viewer_of
from roost.db.api import build_requests, instance_mappings, server_groups
from roost.db.cell import instances
from roost.db.engine import Database, retried
from roost.db.instance_query import NamedInstance
from roost.objects import Instance, InstanceMapping, InstanceNUMACell, InstanceNUMATopology
from roost.operations.kinds import MIGRATE, REVERT_RESIZE


@retried
def move(database: Database, instance: Instance, zone: str | None) -> None:
    """Pin a server to the zone that it is in, or to none.

    :raises roost.exception.Conflict: for another zone, or while it is pinned to another one
    """
    uuid = str(instance.uuid)
    with database.begin() as session:
        mapping = instance_mappings.find(session, uuid)
        if mapping is None:
            raise missing(uuid)
        pinned = build_requests.get_spec(session, mapping.request_uuid).availability_zone
        if pinned == zone:
            return
        _check(instance, pinned, zone)
        if not build_requests.pin(session, uuid, mapping.request_uuid, zone):
            raise exception.Conflict(f"Instance {uuid} was pinned or unpinned meanwhile")


def _check(instance: Instance, pinned: str | None, zone: str | None) -> None:
    if zone is None:
        return
    if pinned is not None:
        raise exception.Conflict(
            f"Instance {instance.uuid} is pinned to the availability zone {pinned}: unpin it first."
        )
    if instance.task_state in MIGRATE.tasks + REVERT_RESIZE.tasks:
        raise exception.Conflict(
            f"Instance {instance.uuid} moves to another host: pin it when that is over."
        )
    if zone != instance.availability_zone:
        raise exception.Conflict(
            f"Instance {instance.uuid} is not in the availability zone {zone}: it can only be"
            " pinned to the one that it is in."
        )


class ServerIps:
    """Handlers of ``/servers/{id}/ips``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)

    def list_all(self, call: Call) -> Answer:
        return Answer({"addresses": self._addresses(call)})

    def show(self, call: Call) -> Answer:
        network = call.params["network_label"]
        found = self._addresses(call)
        if network not in found:
            raise exception.NotFound("Instance is not a member of specified network")
        return Answer({network: found[network]})

    def _addresses(self, call: Call) -> dict[str, list[dict[str, Any]]]:
        info = self._locator.find(call, call.params["server_id"]).instance.network_info
        return plain_addresses(info.vifs if info else [])


TOPOLOGY_HOST_POLICY = Rule(
    "compute:server:topology:host:index", ADMIN, "See the host's cells and CPUs of a server."
)


def full(topology: InstanceNUMATopology | None, *, sees_host: bool) -> dict[str, Any]:
    """Return the NUMA cells of a server, if any.

    :param sees_host: include the cells and CPUs of the host that they are on
    """
    cells = topology.cells if topology else []
    pages = {cell.page_kb for cell in cells}
    return {
        "nodes": [_node(cell, sees_host=sees_host) for cell in cells],
        "pagesize_kb": pages.pop() if len(pages) == 1 else None,
    }


def _node(cell: InstanceNUMACell, *, sees_host: bool) -> dict[str, Any]:
    cpus = sorted([*cell.cpus, *cell.pcpus])
    shown = {"memory_mb": cell.memory_mb, "vcpu_set": cpus, "siblings": []}
    if not sees_host:
        return shown
    pinning = {str(cpu): at for cpu, at in zip(cell.pcpus, cell.pinning, strict=False)}
    return {**shown, "host_node": cell.host_cell, "cpu_pinning": pinning}


class ServerTopology:
    """Handler of ``/servers/{id}/topology``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)

    def show(self, call: Call) -> Answer:
        instance = self._locator.find(call, call.params["server_id"]).instance
        sees_host = call.allows(TOPOLOGY_HOST_POLICY, project_id=instance.project_id)
        return Answer(full(instance.numa_topology, sees_host=sees_host))


LOG = logging.getLogger(__name__)
_HOST_STATUS_SINCE = 16
_GROUPS_SINCE = 71
_ASKED_SINCE = 96  # since 2.96 responses have parts of the create request
# Key in the request body -> column.
_CHANGEABLE = {
    "name": "display_name",
    "description": "display_description",
    "hostname": "hostname",
    "accessIPv4": "access_ip_v4",
    "accessIPv6": "access_ip_v6",
    "OS-DCF:diskConfig": "disk_config",
}


class Servers:
    """Handlers of ``/servers``."""

    def __init__(self, dependencies: Dependencies) -> None:
        options = dependencies.options
        self._dependencies = dependencies
        self._create = ServerCreate(dependencies)
        self._delete = ServerDelete(dependencies)
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)
        gatherer = Gatherer(dependencies.executor, timeout=options.cell_timeout)
        self._lists = ServerLists(dependencies, gatherer, self._locator)

    def list_brief(self, call: Call) -> Answer:
        return self._list(call, detailed=False)

    def list_detailed(self, call: Call) -> Answer:
        return self._list(call, detailed=True)

    def show(self, call: Call) -> Answer:
        try:
            server_ref = self._locator.find(call, call.params["server_id"])
        except exception.Unavailable:
            if call.version < views.SINCE:
                raise
            return self._shown_without_cell(call)
        return self._shown(call, server_ref)

    def create(self, call: Call) -> Answer:
        accepted = self._create.accept(call)
        first = accepted.instances[0]
        if truth(str(call.body["server"].get("return_reservation_id", "")), name="it"):
            return Answer({"reservation_id": first.reservation_id})
        secret = accepted.password if self._dependencies.options.instance_password else None
        groups = [one["name"] for one in call.body["server"].get("security_groups") or []]
        shown = views.created(first, groups=groups, password=secret, base_url=call.base_url)
        location = f"{call.base_url}/v2.1/servers/{first.uuid}"
        return Answer({"server": shown}, headers={"Location": location})

    def update(self, call: Call) -> Answer:
        server_ref = self._locator.find(call, call.params["server_id"])
        asked = call.body["server"]
        if not asked:
            return self._shown(call, server_ref, views.updated)
        if server_ref.cell is None:
            raise exception.Conflict(
                f"Instance {server_ref.instance.uuid} is being scheduled; it can be changed when it"
                " has a host."
            )
        changes = {
            column: _clean(name, asked[name])
            for name, column in _CHANGEABLE.items()
            if name in asked
        }
        if "pinned_availability_zone" in asked:
            move(
                self._dependencies.api_database,
                server_ref.instance,
                asked["pinned_availability_zone"],
            )
        instance = _change(server_ref.cell.database, server_ref.instance.uuid, changes)
        return self._shown(call, ServerRef(instance, server_ref.cell), views.updated)

    def delete(self, call: Call) -> Answer:
        return self._delete.delete(call)

    def _list(self, call: Call, *, detailed: bool) -> Answer:
        limit = pagination.limit(call, most=self._dependencies.options.max_limit)
        wanted = lists.wanted(call)
        seen_by = viewer_of(call)
        if wanted:
            wanted = dataclasses.replace(
                wanted, with_user_data=detailed and seen_by.sees_host, names_only=not detailed
            )
        if call.query.number("limit") == 0:
            return Answer({"servers": []})
        page = self._lists.page(call, wanted, limit=limit) if wanted else []
        if detailed:
            found = self._lists.with_details(page, **_reads(call))
            shown = [_detailed(one, seen_by) for one in found]
        else:
            shown = [_brief(listed.found, seen_by) for listed in page]
        last = page[-1].uuid if page else ""
        full = len(page) == limit
        return Answer({"servers": shown, **pagination.links(call, "servers", full=full, last=last)})

    def _shown(self, call: Call, server_ref: ServerRef, view: Any = views.full) -> Answer:
        groups = call.version >= _GROUPS_SINCE
        shown = self._lists.with_all_details(server_ref, groups=groups, **_reads(call))
        return Answer({"server": view(shown, viewer_of(call))})

    def _shown_without_cell(self, call: Call) -> Answer:
        """Show what the API database has of a server whose cell is unavailable."""
        mapping, spec = self._locator.find_mapping(call, call.params["server_id"])
        groups = self._groups(call, mapping.instance_uuid)
        return Answer({"server": views.shown(mapping, spec, viewer_of(call), groups=groups)})

    def _groups(self, call: Call, uuid: str) -> list[str]:
        if call.version < _GROUPS_SINCE:
            return []
        return self._dependencies.api_database.query(server_groups.list_of_instance, uuid)


def _reads(call: Call) -> dict[str, bool]:
    """Return what this caller sees of servers that is not in their rows."""
    sees_status = call.version >= _HOST_STATUS_SINCE and call.allows(policies.SHOW_HOST_STATUS)
    return {"host_status": sees_status, "asked": call.version >= _ASKED_SINCE}


@retried
def _change(database: Database, uuid: str, changes: Mapping[str, Any]) -> Instance:
    with database.begin() as session:
        instances.update(session, uuid, changes, expected={})
        return instances.get(session, uuid)


def _brief(
    found: Instance | NamedInstance | InstanceMapping, viewer: views.Viewer
) -> dict[str, Any]:
    if isinstance(found, InstanceMapping):
        return views.unreachable_brief(found, viewer)
    return views.brief(found, viewer)


def _detailed(found: views.Shown | InstanceMapping, viewer: views.Viewer) -> dict[str, Any]:
    if isinstance(found, InstanceMapping):
        return views.detailed(found, viewer)
    return views.full(found, viewer)


def _clean(name: str, value: Any) -> Any:
    if name == "accessIPv6":
        return short_ip(value)
    return value if name in ("name", "description") else value or None


_ALL: Final = "/v2.1/servers/{server_id}/ips"

IPS_ROUTES: Final[tuple[Route, ...]] = (
    row(
        f"GET {_ALL}",
        (ServerIps, ServerIps.list_all),
        Rule("os_compute_api:ips:index", READER, "List the addresses of a server."),
    ),
    row(
        f"GET {_ALL}/{{network_label}}",
        (ServerIps, ServerIps.show),
        Rule("os_compute_api:ips:show", READER, "List addresses of a network."),
    ),
)


TOPOLOGY_ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/servers/{server_id}/topology",
        (ServerTopology, ServerTopology.show),
        Rule("compute:server:topology:index", READER, "See the NUMA cells of a server."),
        checks=(TOPOLOGY_HOST_POLICY,),
        since=78,
    ),
)


_LISTED: Final = (policies.ALL_PROJECTS, policies.ALL_FILTERS)
_SHOWN: Final = (
    policies.SHOW_HOST,
    policies.SHOW_HOST_STATUS,
    policies.SHOW_PLACEMENT_COUNTS,
    flavors.LIST_SPECS_POLICY,
)

SERVERS_ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/servers",
        (Servers, Servers.list_brief),
        Rule("os_compute_api:servers:index", READER, "List servers."),
        checks=_LISTED,
        query=schemas.LIST_QUERY,
    ),
    row(
        "POST /v2.1/servers",
        (Servers, Servers.create),
        Rule("os_compute_api:servers:create", MEMBER, "Create servers."),
        checks=(
            policies.FORCED_HOST,
            policies.REQUESTED_HOST,
            policies.HOST_HINTS,
            policies.ZERO_DISK,
            policies.TRUSTED_CERTS,
            policies.SHOW,
            flavors.ALL_POLICY,
            compute_server_groups.SHOW_POLICY,
        ),
        body=schemas.CREATE,
        status=202,
    ),
    row(
        "GET /v2.1/servers/detail",
        (Servers, Servers.list_detailed),
        Rule("os_compute_api:servers:detail", READER, "List servers with details."),
        checks=(*_LISTED, *_SHOWN),
        query=schemas.LIST_QUERY,
    ),
    row(
        "GET /v2.1/servers/{server_id}",
        (Servers, Servers.show),
        policies.SHOW,
        checks=_SHOWN,
    ),
    row(
        "PUT /v2.1/servers/{server_id}",
        (Servers, Servers.update),
        Rule("os_compute_api:servers:update", MEMBER, "Change a server's name or description."),
        checks=_SHOWN,
        body=schemas.UPDATE,
    ),
    row(
        "DELETE /v2.1/servers/{server_id}",
        (Servers, Servers.delete),
        Rule("os_compute_api:servers:delete", MEMBER, "Delete a server."),
        status=204,
    ),
    row(
        "POST /v2.1/servers/{server_id}/action",
        (ServerActions, ServerActions.act),
        Rule(
            "roost:servers:action",
            any_of(one.rule for one in ACTIONS.values()),
            "Use any action on a server; each action has a policy of its own, too.",
        ),
        checks=tuple(rule for one in ACTIONS.values() for rule in (one.rule, *one.checks)),
        body=actions.BODY,
        status=202,
        also=200,
    ),
)
