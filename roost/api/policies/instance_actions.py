"""Rules of the records of what was done to a server."""

from roost.api.policies.base import ADMIN, READER, rule

_ROOT = "os_compute_api:os-instance-actions"
LIST = f"{_ROOT}:list"
SHOW = f"{_ROOT}:show"
EVENTS = f"{_ROOT}:events"
EVENT_DETAILS = f"{_ROOT}:events:details"

_ACTIONS = "/servers/{server_id}/os-instance-actions"
_ACTION = f"{_ACTIONS}/{{request_id}}"

RULES = [
    rule(LIST, READER, "List what was done to a server.", f"GET {_ACTIONS}", formerly=_ROOT),
    rule(SHOW, READER, "Show one action on a server.", f"GET {_ACTION}", formerly=_ROOT),
    rule(
        EVENTS,
        ADMIN,
        "See an action's events before 2.51, and the hosts they happened on.",
        f"GET {_ACTION}",
    ),
    rule(EVENT_DETAILS, ADMIN, "See what exactly failed in an event.", f"GET {_ACTION}"),
]
