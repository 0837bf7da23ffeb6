"""The records of what was done to a server as JSON."""

import dataclasses
from typing import Any, Final

from roost.api.views.base import micros
from roost.api.views.servers import host_id
from roost.objects import InstanceAction, InstanceActionEvent

EVENTS: Final = 51
UPDATED_AT: Final = 58
HOSTS: Final = 62
DETAILS: Final = 84


@dataclasses.dataclass(frozen=True, kw_only=True)
class Looker:
    """Who looks, in which version; ``sees_inside``: hosts and traces, ``sees_why``: causes."""

    version: int
    sees_inside: bool = False
    sees_why: bool = False

    @property
    def sees_events(self) -> bool:
        """Since 2.51 everybody who may see the action sees its events."""
        return self.sees_inside or self.version >= EVENTS


def brief(action: InstanceAction, looker: Looker) -> dict[str, Any]:
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
    if looker.version >= UPDATED_AT:
        shown["updated_at"] = micros(action.updated_at or action.start_time)
    return shown


def full(action: InstanceAction, looker: Looker) -> dict[str, Any]:
    """Return an action with its events, if this looker may see them."""
    shown = brief(action, looker)
    if looker.sees_events:
        project = action.project_id or ""
        shown["events"] = [_event(event, looker, project) for event in action.events]
    return shown


def _event(event: InstanceActionEvent, looker: Looker, project_id: str) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "event": event.event,
        "start_time": micros(event.start_time),
        "finish_time": micros(event.finish_time),
        "result": event.result,
    }
    if looker.sees_inside:
        shown["traceback"] = None
    if looker.version >= HOSTS:
        shown["hostId"] = host_id(event.host, project_id)
        if looker.sees_inside and event.host is not None:
            shown["host"] = event.host
    if looker.version >= DETAILS and looker.sees_why:
        shown["details"] = event.details
    return shown
