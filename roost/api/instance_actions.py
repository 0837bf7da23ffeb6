"""What was done to a server, step by step."""

from roost import exception
from roost.api import moments, paging, policies
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.schemas.instance_actions import PAGES
from roost.api.views import instance_actions as views
from roost.api.whereabouts import Located, Whereabouts
from roost.db.cell import actions as rows
from roost.objects import InstanceAction

_OF_DELETED_SINCE = 21


class InstanceActions:
    """Handlers of ``/servers/{id}/os-instance-actions``."""

    def __init__(self, parts: Parts) -> None:
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)
        self._most = parts.options.max_limit

    def list_brief(self, call: Call) -> Answer:
        located = self._find(call)
        looker = _looker(call)
        changes = moments.changes(call, since=PAGES)
        found = [one for one in _actions(located) if changes.have(one.updated_at or one.start_time)]
        if call.version < PAGES:
            return Answer({"instanceActions": [views.brief(one, looker) for one in found]})
        limit = paging.limit(call, most=self._most)
        page = paging.after(found, call, identity="request_id")[:limit]
        last = page[-1].request_id if page else ""
        return Answer(
            {
                "instanceActions": [views.brief(one, looker) for one in page],
                **paging.links(call, "links", full=len(page) == limit, last=last),
            }
        )

    def show(self, call: Call) -> Answer:
        located, request_id = self._find(call), call.params["request_id"]
        if located.cell is None:
            raise exception.NotFound(f"Action for request_id {request_id} could not be found.")
        with located.cell.database.read() as session:
            action = rows.get(session, located.instance.uuid, request_id)
        return Answer({"instanceAction": views.full(action, _looker(call))})

    def _find(self, call: Call) -> Located:
        deleted = call.version >= _OF_DELETED_SINCE
        return self._whereabouts.find(call, call.params["server_id"], deleted=deleted)


def _actions(located: Located) -> list[InstanceAction]:
    """Return the actions, the newest first; a wish has none yet that were recorded."""
    if located.cell is None:
        return []
    with located.cell.database.read() as session:
        return rows.list_actions(session, located.instance.uuid)


def _looker(call: Call) -> views.Looker:
    return views.Looker(
        version=call.version,
        sees_inside=call.allows(policies.instance_actions.EVENTS),
        sees_why=call.allows(policies.instance_actions.EVENT_DETAILS),
    )
