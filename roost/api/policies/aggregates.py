"""Rules of aggregates."""

from typing import Final

from roost.api.policies.base import ADMIN, rule

_ROOT = "os_compute_api:os-aggregates"
LIST = f"{_ROOT}:index"
SHOW = f"{_ROOT}:show"
CREATE = f"{_ROOT}:create"
UPDATE = f"{_ROOT}:update"
DELETE = f"{_ROOT}:delete"
ACT = "roost:aggregates:action"
ADD_HOST = f"{_ROOT}:add_host"
REMOVE_HOST = f"{_ROOT}:remove_host"
SET_METADATA = f"{_ROOT}:set_metadata"
ACTIONS: Final = {"add_host": ADD_HOST, "remove_host": REMOVE_HOST, "set_metadata": SET_METADATA}

_AGGREGATE = "/os-aggregates/{aggregate_id}"
_ACTION = f"POST {_AGGREGATE}/action"

RULES = [
    rule(LIST, ADMIN, "List aggregates.", "GET /os-aggregates"),
    rule(SHOW, ADMIN, "Show an aggregate.", f"GET {_AGGREGATE}"),
    rule(CREATE, ADMIN, "Create an aggregate.", "POST /os-aggregates"),
    rule(UPDATE, ADMIN, "Change an aggregate's name or zone.", f"PUT {_AGGREGATE}"),
    rule(DELETE, ADMIN, "Delete an aggregate.", f"DELETE {_AGGREGATE}"),
    rule(
        ACT,
        " or ".join(f"rule:{action}" for action in ACTIONS.values()),
        "Act on an aggregate at all; each action has a rule of its own, too.",
        _ACTION,
    ),
    rule(ADD_HOST, ADMIN, "Add a host to an aggregate.", _ACTION),
    rule(REMOVE_HOST, ADMIN, "Take a host out of an aggregate.", _ACTION),
    rule(SET_METADATA, ADMIN, "Change an aggregate's metadata.", _ACTION),
]
