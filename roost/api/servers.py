"""Servers."""

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

from roost import exception
from roost.api import paging, policies, server_pins, server_query
from roost.api.call import Answer, Call, short_ip, truth
from roost.api.gather import Gatherer
from roost.api.lookers import looker
from roost.api.parts import Parts
from roost.api.server_create import ServerCreate
from roost.api.server_delete import ServerDelete
from roost.api.server_lists import Listed, Page, ServerLists
from roost.api.views import servers as views
from roost.api.views import unreachable
from roost.api.whereabouts import Located, Whereabouts
from roost.db.api import server_groups
from roost.db.cell import instances
from roost.db.engine import Database, retried
from roost.objects import Instance, InstanceMapping

LOG = logging.getLogger(__name__)
_HOST_STATUS_SINCE = 16
_GROUPS_SINCE = 71
_ASKED_SINCE = 96  # since 2.96 something is told of what was asked for
# What a body calls it -> the column that keeps it.
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

    def __init__(self, parts: Parts) -> None:
        options = parts.options
        self._parts = parts
        self._create = ServerCreate(parts)
        self._delete = ServerDelete(parts)
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)
        gatherer = Gatherer(parts.executor, timeout=options.cell_timeout)
        self._lists = ServerLists(parts, gatherer, self._whereabouts)

    def list_brief(self, call: Call) -> Answer:
        return self._list(call, detailed=False)

    def list_detailed(self, call: Call) -> Answer:
        return self._list(call, detailed=True)

    def show(self, call: Call) -> Answer:
        try:
            located = self._whereabouts.find(call, call.params["server_id"])
        except exception.Unavailable:
            if call.version < unreachable.SINCE:
                raise
            return self._shown_from_afar(call)
        return self._shown(call, located)

    def create(self, call: Call) -> Answer:
        accepted = self._create.accept(call)
        first = accepted.instances[0]
        if truth(str(call.body["server"].get("return_reservation_id", "")), name="it"):
            return Answer({"reservation_id": first.reservation_id})
        secret = accepted.password if self._parts.options.instance_password else None
        groups = [one["name"] for one in call.body["server"].get("security_groups") or []]
        shown = views.created(first, groups=groups, password=secret, base_url=call.base_url)
        location = f"{call.base_url}/v2.1/servers/{first.uuid}"
        return Answer({"server": shown}, headers={"Location": location})

    def update(self, call: Call) -> Answer:
        located = self._whereabouts.find(call, call.params["server_id"])
        asked = call.body["server"]
        if not asked:
            return self._shown(call, located, views.updated)
        if located.cell is None:
            raise exception.Conflict(
                f"Instance {located.instance.uuid} is being scheduled; it can be changed when it"
                " has a host, in a moment."
            )
        changes = {
            column: _clean(name, asked[name])
            for name, column in _CHANGEABLE.items()
            if name in asked
        }
        if "pinned_availability_zone" in asked:
            server_pins.move(
                self._parts.api_database, located.instance, asked["pinned_availability_zone"]
            )
        instance = _change(located.cell.database, located.instance.uuid, changes)
        return self._shown(call, Located(instance, located.cell), views.updated)

    def delete(self, call: Call) -> Answer:
        return self._delete.delete(call)

    def _list(self, call: Call, *, detailed: bool) -> Answer:
        limit = paging.limit(call, most=self._parts.options.max_limit)
        wanted = server_query.wanted(call)
        seen_by = looker(call)
        if wanted and detailed and seen_by.sees_host:
            wanted = dataclasses.replace(wanted, with_user_data=True)
        if call.query.number("limit") == 0:
            return Answer({"servers": []})
        page = self._lists.page(call, wanted, limit=limit) if wanted else []
        if detailed:
            shown = [_detailed(one, seen_by) for one in self._details(call, page)]
        else:
            shown = [_brief(listed.found, seen_by) for listed in page]
        last = page[-1].uuid if page else ""
        full = len(page) == limit
        return Answer({"servers": shown, **paging.links(call, "servers", full=full, last=last)})

    def _shown(self, call: Call, located: Located, view: Any = views.full) -> Answer:
        (shown,) = self._details(call, [Listed(located.cell, located.instance)])
        shown = dataclasses.replace(shown, groups=self._groups(call, located.instance.uuid))
        return Answer({"server": view(shown, looker(call))})

    def _shown_from_afar(self, call: Call) -> Answer:
        """Show what is known of a server whose cell is away."""
        mapping, spec = self._whereabouts.find_mapping(call, call.params["server_id"])
        groups = self._groups(call, mapping.instance_uuid)
        return Answer({"server": unreachable.shown(mapping, spec, looker(call), groups=groups)})

    def _groups(self, call: Call, uuid: str) -> list[str]:
        if call.version < _GROUPS_SINCE:
            return []
        with self._parts.api_database.read() as session:
            return server_groups.list_of_instance(session, uuid)

    def _details(self, call: Call, page: Page) -> list[Any]:
        return self._lists.with_details(
            page,
            host_status=call.version >= _HOST_STATUS_SINCE
            and call.allows(policies.servers.SHOW_HOST_STATUS),
            asked=call.version >= _ASKED_SINCE,
        )


@retried
def _change(database: Database, uuid: str, changes: Mapping[str, Any]) -> Instance:
    with database.begin() as session:
        instances.update(session, uuid, changes, expected={})
        return instances.get(session, uuid)


def _brief(found: Instance | InstanceMapping, looker: views.Looker) -> dict[str, Any]:
    if isinstance(found, InstanceMapping):
        return unreachable.brief(found, looker)
    return views.brief(views.Shown(instance=found), looker)


def _detailed(found: views.Shown | InstanceMapping, looker: views.Looker) -> dict[str, Any]:
    if isinstance(found, InstanceMapping):
        return unreachable.detailed(found, looker)
    return views.full(found, looker)


def _clean(name: str, value: Any) -> Any:
    if name == "name":
        return value.strip()
    if name == "accessIPv6":
        return short_ip(value)
    return value if name == "description" else value or None
