"""Rules of the records of what was done to a server."""

from roost.api.policies.base import ADMIN, READER, rule

LIST = "os_compute_api:os-instance-actions:list"
SHOW = "os_compute_api:os-instance-actions:show"
EVENTS = "os_compute_api:os-instance-actions:events"
EVENT_DETAILS = "os_compute_api:os-instance-actions:events:details"

_ACTIONS = "/servers/{server_id}/os-instance-actions"
_ACTION = f"{_ACTIONS}/{{request_id}}"

RULES = [
    rule(LIST, READER, "List what was done to a server.", f"GET {_ACTIONS}"),
    rule(SHOW, READER, "Show one action on a server.", f"GET {_ACTION}"),
    rule(
        EVENTS,
        ADMIN,
        "See an action's events before 2.51, and the hosts they happened on.",
        f"GET {_ACTION}",
    ),
    rule(EVENT_DETAILS, ADMIN, "See what exactly failed in an event.", f"GET {_ACTION}"),
]
