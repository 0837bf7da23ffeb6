"""Rules of servers."""

from typing import Final

from roost.api.policies import server_actions, server_consoles
from roost.api.policies.base import ADMIN, MEMBER, READER, rule

LIST = "os_compute_api:servers:index"
DETAIL = "os_compute_api:servers:detail"
SHOW = "os_compute_api:servers:show"
CREATE = "os_compute_api:servers:create"
UPDATE = "os_compute_api:servers:update"
DELETE = "os_compute_api:servers:delete"
ACT = "roost:servers:action"
START = "os_compute_api:servers:start"
STOP = "os_compute_api:servers:stop"
REBOOT = "os_compute_api:servers:reboot"
# What a body calls an action -> its rule.
ACTIONS: Final = {
    "os-start": START,
    "os-stop": STOP,
    "reboot": REBOOT,
    **server_actions.ACTIONS,
    **server_consoles.ACTIONS,
}
ALL_PROJECTS = "os_compute_api:servers:index:get_all_tenants"
ALL_FILTERS = "os_compute_api:servers:allow_all_filters"
FORCED_HOST = "os_compute_api:servers:create:forced_host"
TRUSTED_CERTS = "os_compute_api:servers:create:trusted_certs"
ZERO_DISK = "os_compute_api:servers:create:zero_disk_flavor"
REQUESTED_HOST = "compute:servers:create:requested_destination"
HOST_HINTS = "roost:servers:create:host_hints"
SHOW_HOST = "os_compute_api:os-extended-server-attributes"
SHOW_HOST_STATUS = "os_compute_api:servers:show:host_status"
SHOW_PLACEMENT_COUNTS = "roost:servers:show:placement_counts"

_LISTS = ("GET /servers", "GET /servers/detail")
_SERVER = "/servers/{server_id}"
_ACTION = f"POST {_SERVER}/action"

RULES = [
    rule(LIST, READER, "List servers.", "GET /servers"),
    rule(DETAIL, READER, "List servers with details.", "GET /servers/detail"),
    rule(ALL_PROJECTS, ADMIN, "List the servers of all projects.", *_LISTS),
    rule(ALL_FILTERS, ADMIN, "Filter lists by host, deletion and the like.", *_LISTS),
    rule(SHOW, READER, "Show a server.", f"GET {_SERVER}"),
    rule(
        SHOW_HOST,
        ADMIN,
        "See a server's host and other things of the cloud's inside.",
        f"GET {_SERVER}",
        "GET /servers/detail",
    ),
    rule(
        SHOW_HOST_STATUS,
        ADMIN,
        "See whether a server's host is up.",
        f"GET {_SERVER}",
        "GET /servers/detail",
    ),
    rule(
        SHOW_PLACEMENT_COUNTS,
        ADMIN,
        "See in a server's fault how many hosts were refused for which reason; all who see the"
        " server see the reasons.",
        f"GET {_SERVER}",
        "GET /servers/detail",
    ),
    rule(CREATE, MEMBER, "Create servers.", "POST /servers"),
    rule(
        FORCED_HOST,
        ADMIN,
        "Name the host of a new server in its availability zone, zone:host:node.",
        "POST /servers",
    ),
    rule(REQUESTED_HOST, ADMIN, "Name the host of a new server.", "POST /servers"),
    rule(
        HOST_HINTS,
        ADMIN,
        "Say by the hint build_near_host_ip or query near which host a new server is to be, or what"
        " that must have: what comes of it tells what hosts there are.",
        "POST /servers",
    ),
    rule(
        ZERO_DISK,
        ADMIN,
        "Create servers of flavors whose root disk has no size (0), and is as large as the image.",
        "POST /servers",
    ),
    rule(
        TRUSTED_CERTS,
        MEMBER,
        "Name the certificates that a server's image is trusted by.",
        "POST /servers",
    ),
    rule(UPDATE, MEMBER, "Change a server's name or description.", f"PUT {_SERVER}"),
    rule(
        ACT,
        " or ".join(f"rule:{action}" for action in dict.fromkeys(ACTIONS.values())),
        "Act on a server at all; each action has a rule of its own, too.",
        _ACTION,
    ),
    rule(START, MEMBER, "Start a stopped server.", _ACTION),
    rule(STOP, MEMBER, "Stop a server.", _ACTION),
    rule(REBOOT, MEMBER, "Reboot a server.", _ACTION),
    rule(DELETE, MEMBER, "Delete a server.", f"DELETE {_SERVER}"),
]
