"""Rules of servers' metadata."""

from roost.api.policies.base import MEMBER, READER, rule

_ROOT = "os_compute_api:server-metadata"
LIST = f"{_ROOT}:index"
SHOW = f"{_ROOT}:show"
CREATE = f"{_ROOT}:create"
UPDATE = f"{_ROOT}:update"
REPLACE = f"{_ROOT}:update_all"
DELETE = f"{_ROOT}:delete"

_ALL = "/servers/{server_id}/metadata"
_ONE = f"{_ALL}/{{key}}"

RULES = [
    rule(LIST, READER, "List a server's metadata.", f"GET {_ALL}"),
    rule(SHOW, READER, "Show one item of a server's metadata.", f"GET {_ONE}"),
    rule(CREATE, MEMBER, "Add items to a server's metadata.", f"POST {_ALL}"),
    rule(UPDATE, MEMBER, "Set one item of a server's metadata.", f"PUT {_ONE}"),
    rule(REPLACE, MEMBER, "Replace a server's metadata.", f"PUT {_ALL}"),
    rule(DELETE, MEMBER, "Delete one item of a server's metadata.", f"DELETE {_ONE}"),
]
