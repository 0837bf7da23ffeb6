"""Rules of the interfaces of a server."""

from roost.api.policies.base import MEMBER, READER, rule

_ROOT = "os_compute_api:os-attach-interfaces"
LIST = f"{_ROOT}:list"
SHOW = f"{_ROOT}:show"
CREATE = f"{_ROOT}:create"
DELETE = f"{_ROOT}:delete"

_ALL = "/servers/{server_id}/os-interface"
_ONE = f"{_ALL}/{{port_id}}"

RULES = [
    rule(LIST, READER, "List the interfaces of a server.", f"GET {_ALL}", formerly=_ROOT),
    rule(SHOW, READER, "Show one of them.", f"GET {_ONE}", formerly=_ROOT),
    rule(CREATE, MEMBER, "Attach an interface to a server.", f"POST {_ALL}", formerly=_ROOT),
    rule(DELETE, MEMBER, "Detach an interface from a server.", f"DELETE {_ONE}", formerly=_ROOT),
]
