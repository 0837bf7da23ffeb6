"""Servers."""

import logging
from typing import Any, NoReturn

from roost import exception
from roost.api import paging, policies, server_query
from roost.api.call import Answer, Call, truth
from roost.api.gather import Gatherer
from roost.api.parts import Parts
from roost.api.server_create import ServerCreate, password
from roost.api.server_lists import ServerLists
from roost.api.validation import is_uuid
from roost.api.views import servers as views
from roost.api.whereabouts import Located, Whereabouts, missing
from roost.db.api import instance_mappings
from roost.db.cell import instances
from roost.db.engine import retried
from roost.objects import InstanceMapping

LOG = logging.getLogger(__name__)
_HOST_STATUS_SINCE = 16
_PINNED_ZONE_SINCE = 96
# What a body calls it -> the column that keeps it.
_CHANGEABLE = {
    "name": "display_name",
    "description": "display_description",
    "hostname": "hostname",
    "accessIPv4": "access_ip_v4",
    "accessIPv6": "access_ip_v6",
}


class Servers:
    """Handlers of ``/servers``."""

    def __init__(self, parts: Parts) -> None:
        options = parts.options
        self._parts = parts
        self._create = ServerCreate(parts)
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)
        gatherer = Gatherer(parts.executor, timeout=options.cell_timeout, pause=options.cell_pause)
        self._lists = ServerLists(parts, gatherer, self._whereabouts)

    def list_brief(self, call: Call) -> Answer:
        return self._list(call, detailed=False)

    def list_detailed(self, call: Call) -> Answer:
        return self._list(call, detailed=True)

    def show(self, call: Call) -> Answer:
        located = self._whereabouts.find(call, call.params["server_id"])
        return self._shown(call, located)

    def create(self, call: Call) -> Answer:
        accepted = self._create.accept(call)
        first = accepted.instances[0]
        if truth(str(call.body["server"].get("return_reservation_id", "")), name="it"):
            return Answer({"reservation_id": first.reservation_id})
        secret = call.body["server"].get("adminPass") or password()
        shown = views.created(first, password=secret, base_url=call.base_url)
        location = f"{call.base_url}/v2.1/servers/{first.uuid}"
        return Answer({"server": shown}, headers={"Location": location})

    def update(self, call: Call) -> Answer:
        located = self._whereabouts.find(call, call.params["server_id"])
        if located.cell is None:
            raise exception.Conflict(
                f"Instance {located.instance.uuid} is being scheduled; it can be changed when it"
                " has a host, in a moment."
            )
        asked = call.body["server"]
        changes = {
            column: _clean(name, asked[name])
            for name, column in _CHANGEABLE.items()
            if name in asked
        }
        with located.cell.database.begin() as session:
            instances.update(session, located.instance.uuid, changes, expected={})
            instance = instances.get(session, located.instance.uuid)
        return self._shown(call, Located(instance, located.cell))

    def delete(self, call: Call) -> Answer:
        """Let the user be rid of a server now; the rest follows by itself.

        What is durable is done first, in one transaction of the API database: a wish is withdrawn,
        anything else queued for deletion. From there on a super-conductor sees to the end, so a
        cell that is away does not keep the user waiting.
        """
        uuid = call.params["server_id"]
        if not is_uuid(uuid):
            raise missing(uuid)
        mapping = self._let_go(call, uuid)
        if mapping is None or mapping.cell_uuid is None:
            return Answer()
        try:
            ended = self._parts.cells.get(mapping.cell_uuid).end_instance(call.context, uuid)
        except exception.Unavailable as error:
            LOG.warning("%s: to be deleted when its cell can be reached: %s", uuid, error)
            return Answer()
        if not ended and mapping.queued_for_delete:
            raise missing(uuid)
        return Answer()

    def act(self, call: Call) -> NoReturn:
        """Refuse, naming the action: there are none yet."""
        self._whereabouts.find(call, call.params["server_id"])
        action = ", ".join(call.body)
        raise exception.Invalid(f"There is no such action: {action}")

    def _let_go(self, call: Call, uuid: str) -> InstanceMapping | None:
        """Withdraw a wish (None), or queue the instance; return its mapping as found.

        A wish that cannot be withdrawn was placed this moment: a new transaction sees where.
        """
        for _ in range(2):
            done, mapping = self._try_to_let_go(call, uuid)
            if done:
                return mapping
        raise exception.Conflict(f"Instance {uuid} is being placed; try again in a moment.")

    @retried
    def _try_to_let_go(self, call: Call, uuid: str) -> tuple[bool, InstanceMapping | None]:
        with self._parts.api_database.begin() as session:
            mapping = instance_mappings.find(session, uuid)
            if mapping is None:
                raise missing(uuid)
            call.may_touch(mapping.project_id, name=f"Instance {uuid}")
            if mapping.cell_uuid is None:
                return instance_mappings.withdraw(session, uuid), None
            instance_mappings.queue_for_delete(session, uuid)
            return True, mapping

    def _list(self, call: Call, *, detailed: bool) -> Answer:
        limit = paging.limit(call, most=self._parts.options.max_limit)
        wanted = server_query.wanted(call)
        page = self._lists.page(call, wanted, limit=limit) if wanted else []
        looker = _looker(call)
        if detailed:
            shown = [views.full(one, looker) for one in self._details(call, page)]
        else:
            shown = [views.brief(views.Shown(instance=one), looker) for _, one in page]
        last = page[-1][1].uuid if page else ""
        full = len(page) == limit
        return Answer({"servers": shown, **paging.links(call, "servers", full=full, last=last)})

    def _shown(self, call: Call, located: Located) -> Answer:
        (shown,) = self._details(call, [(located.cell, located.instance)])
        return Answer({"server": views.full(shown, _looker(call))})

    def _details(self, call: Call, page: Any) -> list[views.Shown]:
        return self._lists.with_details(
            page,
            host_status=call.version >= _HOST_STATUS_SINCE
            and call.allows(policies.servers.SHOW_HOST_STATUS),
            pinned_zones=call.version >= _PINNED_ZONE_SINCE,
        )


def _looker(call: Call) -> views.Looker:
    return views.Looker(
        version=call.version,
        base_url=call.base_url,
        sees_host=call.allows(policies.servers.SHOW_HOST),
        sees_host_status=call.allows(policies.servers.SHOW_HOST_STATUS),
    )


def _clean(name: str, value: Any) -> Any:
    if name == "name":
        return value.strip()
    return value if name == "description" else value or None
