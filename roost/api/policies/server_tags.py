"""Rules of servers' tags."""

from roost.api.policies.base import MEMBER, READER, rule

_ROOT = "os_compute_api:os-server-tags"
LIST = f"{_ROOT}:index"
SHOW = f"{_ROOT}:show"
ADD = f"{_ROOT}:update"
REPLACE = f"{_ROOT}:update_all"
DELETE = f"{_ROOT}:delete"
DELETE_ALL = f"{_ROOT}:delete_all"

_ALL = "/servers/{server_id}/tags"
_ONE = f"{_ALL}/{{tag}}"

RULES = [
    rule(LIST, READER, "List a server's tags.", f"GET {_ALL}"),
    rule(SHOW, READER, "Ask whether a server has a tag.", f"GET {_ONE}"),
    rule(ADD, MEMBER, "Add a tag to a server.", f"PUT {_ONE}"),
    rule(REPLACE, MEMBER, "Replace a server's tags.", f"PUT {_ALL}"),
    rule(DELETE, MEMBER, "Take a tag from a server.", f"DELETE {_ONE}"),
    rule(DELETE_ALL, MEMBER, "Take all tags from a server.", f"DELETE {_ALL}"),
]
