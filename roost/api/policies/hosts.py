"""Rules of hosts in the words of Compute before 2.43."""

from roost.api.policies.base import ADMIN, rule

_ROOT = "os_compute_api:os-hosts"
LIST = f"{_ROOT}:list"
SHOW = f"{_ROOT}:show"
UPDATE = f"{_ROOT}:update"
START = f"{_ROOT}:start"
SHUTDOWN = f"{_ROOT}:shutdown"
REBOOT = f"{_ROOT}:reboot"

_ALL = "/os-hosts"
_ONE = f"{_ALL}/{{host_name}}"

RULES = [
    rule(LIST, ADMIN, "List hosts, with what runs on them.", f"GET {_ALL}", formerly=_ROOT),
    rule(SHOW, ADMIN, "Show what a host has, and who uses it.", f"GET {_ONE}", formerly=_ROOT),
    rule(UPDATE, ADMIN, "Enable a host, or maintain it.", f"PUT {_ONE}", formerly=_ROOT),
    rule(START, ADMIN, "Start a host.", f"GET {_ONE}/startup", formerly=_ROOT),
    rule(SHUTDOWN, ADMIN, "Shut a host down.", f"GET {_ONE}/shutdown", formerly=_ROOT),
    rule(REBOOT, ADMIN, "Reboot a host.", f"GET {_ONE}/reboot", formerly=_ROOT),
]
