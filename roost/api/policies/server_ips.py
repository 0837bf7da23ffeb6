"""Rules of servers' addresses."""

from roost.api.policies.base import READER, rule

LIST = "os_compute_api:ips:index"
SHOW = "os_compute_api:ips:show"

_ALL = "/servers/{server_id}/ips"

RULES = [
    rule(LIST, READER, "List the addresses of a server.", f"GET {_ALL}"),
    rule(SHOW, READER, "List those of one network.", f"GET {_ALL}/{{network_label}}"),
]
