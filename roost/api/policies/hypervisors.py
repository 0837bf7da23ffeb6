"""Rules of hypervisors."""

from roost.api.policies.base import ADMIN, rule

_ROOT = "os_compute_api:os-hypervisors"
LIST = f"{_ROOT}:list"
DETAIL = f"{_ROOT}:list-detail"
STATISTICS = f"{_ROOT}:statistics"
SHOW = f"{_ROOT}:show"
UPTIME = f"{_ROOT}:uptime"
SEARCH = f"{_ROOT}:search"
SERVERS = f"{_ROOT}:servers"

_ALL = "/os-hypervisors"
_ONE = f"{_ALL}/{{hypervisor_id}}"
_SOME = f"{_ALL}/{{hypervisor_hostname_pattern}}"

RULES = [
    rule(LIST, ADMIN, "List hypervisors.", f"GET {_ALL}", formerly=_ROOT),
    rule(DETAIL, ADMIN, "List hypervisors with details.", f"GET {_ALL}/detail", formerly=_ROOT),
    rule(STATISTICS, ADMIN, "Sum up all hypervisors.", f"GET {_ALL}/statistics", formerly=_ROOT),
    rule(SHOW, ADMIN, "Show a hypervisor.", f"GET {_ONE}", formerly=_ROOT),
    rule(
        UPTIME, ADMIN, "Show for how long a hypervisor is up.", f"GET {_ONE}/uptime", formerly=_ROOT
    ),
    rule(SEARCH, ADMIN, "Search hypervisors by name.", f"GET {_SOME}/search", formerly=_ROOT),
    rule(
        SERVERS,
        ADMIN,
        "List the servers of hypervisors by name.",
        f"GET {_SOME}/servers",
        formerly=_ROOT,
    ),
]
