"""What was done to a server, step by step."""

import datetime
from collections.abc import Sequence

from roost import exception
from roost.api import paging, policies
from roost.api.buried import Buried
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.schemas.instance_actions import PAGES
from roost.api.validation import timestamp
from roost.api.views import instance_actions as views
from roost.api.whereabouts import Located, Whereabouts
from roost.db.cell import actions as rows
from roost.objects import InstanceAction

_OF_DELETED_SINCE = 21


class InstanceActions:
    """Handlers of ``/servers/{id}/os-instance-actions``."""

    def __init__(self, parts: Parts) -> None:
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)
        self._buried = Buried(parts)
        self._most = parts.options.max_limit

    def list_brief(self, call: Call) -> Answer:
        located = self._find(call)
        looker = _looker(call)
        found = _within(call, _actions(located))
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
        uuid, deleted = call.params["server_id"], call.version >= _OF_DELETED_SINCE
        try:
            return self._whereabouts.find(call, uuid, deleted=deleted)
        except exception.NotFound:
            if not deleted:
                raise
        return self._buried.find(call, uuid)


def _actions(located: Located) -> list[InstanceAction]:
    """Return the actions, the newest first; a wish has none yet that were recorded."""
    if located.cell is None:
        return []
    with located.cell.database.read() as session:
        return rows.list_actions(session, located.instance.uuid)


def _within(call: Call, found: Sequence[InstanceAction]) -> list[InstanceAction]:
    since, before = call.query.one("changes-since"), call.query.one("changes-before")
    if call.version < PAGES:
        return list(found)
    least = timestamp(since) if since else datetime.datetime.min.replace(tzinfo=datetime.UTC)
    most = timestamp(before) if before else datetime.datetime.max.replace(tzinfo=datetime.UTC)
    if since and before and least > most:
        raise exception.Invalid("The value of changes-since must be less than changes-before.")
    return [one for one in found if least <= (one.updated_at or one.start_time) <= most]


def _looker(call: Call) -> views.Looker:
    return views.Looker(
        version=call.version,
        sees_inside=call.allows(policies.instance_actions.EVENTS),
        sees_why=call.allows(policies.instance_actions.EVENT_DETAILS),
    )
