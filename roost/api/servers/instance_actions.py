"""Instance actions: the history of a server's actions, with the events of each."""

import dataclasses
from typing import Any, Final

from roost import exception
from roost.api import pagination, validation
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator, ServerRef
from roost.api.pagination import micros
from roost.api.policy import ADMIN, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.servers.views import host_id
from roost.api.validation import PAGE, TIME, Schema, query
from roost.db.cell import actions as rows
from roost.objects import InstanceAction, InstanceActionEvent

_ROOT = "os_compute_api:os-instance-actions"
EVENTS_POLICY = Rule(
    f"{_ROOT}:events", ADMIN, "See an action's events before 2.51, and the hosts they happened on."
)
EVENT_DETAILS_POLICY = Rule(f"{_ROOT}:events:details", ADMIN, "See the details of failed events.")


PAGES: Final = 58  # since 2.58 the list has pages
_PAGED: dict[str, Any] = {**PAGE, "changes-since": TIME}

LIST_QUERY: Final = Schema(
    {
        1: query({}),
        PAGES: query(_PAGED, strict=True),
        66: query({**_PAGED, "changes-before": TIME}, strict=True),
    }
)


EVENTS_SINCE: Final = 51
UPDATED_AT: Final = 58
HOSTS: Final = 62
DETAILS: Final = 84


@dataclasses.dataclass(frozen=True, kw_only=True)
class EventViewer:
    """The viewer and version; ``sees_inside``: hosts and tracebacks, ``sees_why``: details."""

    version: int
    sees_inside: bool = False
    sees_why: bool = False

    @property
    def sees_events(self) -> bool:
        """Since 2.51 all viewers of the action see its events."""
        return self.sees_inside or self.version >= EVENTS_SINCE


def brief(action: InstanceAction, viewer: EventViewer) -> dict[str, Any]:
    """Return an action of the list."""
    shown = {
        "action": action.action,
        "instance_uuid": action.instance_uuid,
        "request_id": action.request_id,
        "user_id": action.user_id,
        "project_id": action.project_id,
        "start_time": micros(action.start_time),
        "message": action.message,
    }
    if viewer.version >= UPDATED_AT:
        shown["updated_at"] = micros(action.updated_at or action.start_time)
    return shown


def full(action: InstanceAction, viewer: EventViewer) -> dict[str, Any]:
    """Return an action with its events, the newest first, if this viewer may see them."""
    shown = brief(action, viewer)
    if viewer.sees_events:
        project = action.project_id or ""
        shown["events"] = [_event(event, viewer, project) for event in reversed(action.events)]
    return shown


def _event(event: InstanceActionEvent, viewer: EventViewer, project_id: str) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "event": event.event,
        "start_time": micros(event.start_time),
        "finish_time": micros(event.finish_time),
        "result": event.result,
    }
    if viewer.sees_inside:
        shown["traceback"] = None
    if viewer.version >= HOSTS:
        shown["hostId"] = host_id(event.host, project_id)
        if viewer.sees_inside and event.host is not None:
            shown["host"] = event.host
    if viewer.version >= DETAILS and viewer.sees_why:
        shown["details"] = event.details
    return shown


_OF_DELETED_SINCE = 21


class InstanceActions:
    """Handlers of ``/servers/{id}/os-instance-actions``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)
        self._most = dependencies.options.max_limit

    def list_brief(self, call: Call) -> Answer:
        server_ref = self._find(call)
        viewer = _viewer_of(call)
        changes = validation.changes(call, since=PAGES)
        found = [
            one for one in _actions(server_ref) if changes.have(one.updated_at or one.start_time)
        ]
        if call.version < PAGES:
            return Answer({"instanceActions": [brief(one, viewer) for one in found]})
        limit = pagination.limit(call, most=self._most)
        page = pagination.after(found, call, identity="request_id")[:limit]
        last = page[-1].request_id if page else ""
        return Answer(
            {
                "instanceActions": [brief(one, viewer) for one in page],
                **pagination.links(call, "links", full=len(page) == limit, last=last),
            }
        )

    def show(self, call: Call) -> Answer:
        server_ref, request_id = self._find(call), call.params["request_id"]
        if server_ref.cell is None:
            raise exception.NotFound(f"Action for request_id {request_id} could not be found.")
        action = server_ref.cell.database.query(rows.get, server_ref.instance.uuid, request_id)
        return Answer({"instanceAction": full(action, _viewer_of(call))})

    def _find(self, call: Call) -> ServerRef:
        deleted = call.version >= _OF_DELETED_SINCE
        return self._locator.find(call, call.params["server_id"], deleted=deleted)


def _actions(server_ref: ServerRef) -> list[InstanceAction]:
    """Return the actions, the newest first; a build request has none yet."""
    if server_ref.cell is None:
        return []
    return server_ref.cell.database.query(rows.list_actions, server_ref.instance.uuid)


def _viewer_of(call: Call) -> EventViewer:
    return EventViewer(
        version=call.version,
        sees_inside=call.allows(EVENTS_POLICY),
        sees_why=call.allows(EVENT_DETAILS_POLICY),
    )


ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/servers/{server_id}/os-instance-actions",
        (InstanceActions, InstanceActions.list_brief),
        Rule(f"{_ROOT}:list", READER, "List the actions on a server.", formerly=_ROOT),
        query=LIST_QUERY,
    ),
    row(
        "GET /v2.1/servers/{server_id}/os-instance-actions/{request_id}",
        (InstanceActions, InstanceActions.show),
        Rule(f"{_ROOT}:show", READER, "Show one action on a server.", formerly=_ROOT),
        checks=(EVENTS_POLICY, EVENT_DETAILS_POLICY),
    ),
)
