"""Policies of servers, of actions on them and of their remote consoles."""

from typing import Final

from roost.api.policy import ADMIN, MEMBER, READER, rule

PAUSE = "os_compute_api:os-pause-server:pause"
UNPAUSE = "os_compute_api:os-pause-server:unpause"
SUSPEND = "os_compute_api:os-suspend-server:suspend"
RESUME = "os_compute_api:os-suspend-server:resume"
REBUILD = "os_compute_api:servers:rebuild"
REBUILD_TRUSTED_CERTS = "os_compute_api:servers:rebuild:trusted_certs"
CREATE_IMAGE = "os_compute_api:servers:create_image"
CREATE_BACKUP = "os_compute_api:os-create-backup"
RESCUE = "os_compute_api:os-rescue"
UNRESCUE = "os_compute_api:os-unrescue"
ADMIN_PASSWORD = "os_compute_api:os-admin-password"  # noqa: S105 - the name of a rule
LOCK = "os_compute_api:os-lock-server:lock"
UNLOCK = "os_compute_api:os-lock-server:unlock"
UNLOCK_OVERRIDE = "os_compute_api:os-lock-server:unlock:unlock_override"
RESET_STATE = "os_compute_api:os-admin-actions:reset_state"
INJECT_NETWORK_INFO = "os_compute_api:os-admin-actions:inject_network_info"
CONSOLE_OUTPUT = "os_compute_api:os-console-output"
FORCE_DELETE = "os_compute_api:os-deferred-delete:force"
RESTORE = "os_compute_api:os-deferred-delete:restore"
ADD_SECURITY_GROUP = "os_compute_api:os-security-groups:add"
REMOVE_SECURITY_GROUP = "os_compute_api:os-security-groups:remove"
ADD_FIXED_IP = "os_compute_api:os-multinic:add"
REMOVE_FIXED_IP = "os_compute_api:os-multinic:remove"
ADD_FLOATING_IP = "os_compute_api:os-floating-ips:add"
REMOVE_FLOATING_IP = "os_compute_api:os-floating-ips:remove"
# Action in the request body -> its policy.
ACTION_POLICIES: Final = {
    "pause": PAUSE,
    "unpause": UNPAUSE,
    "suspend": SUSPEND,
    "resume": RESUME,
    "rebuild": REBUILD,
    "createImage": CREATE_IMAGE,
    "createBackup": CREATE_BACKUP,
    "rescue": RESCUE,
    "unrescue": UNRESCUE,
    "changePassword": ADMIN_PASSWORD,
    "lock": LOCK,
    "unlock": UNLOCK,
    "os-resetState": RESET_STATE,
    "injectNetworkInfo": INJECT_NETWORK_INFO,
    "os-getConsoleOutput": CONSOLE_OUTPUT,
    "forceDelete": FORCE_DELETE,
    "restore": RESTORE,
    "addSecurityGroup": ADD_SECURITY_GROUP,
    "removeSecurityGroup": REMOVE_SECURITY_GROUP,
    "addFixedIp": ADD_FIXED_IP,
    "removeFixedIp": REMOVE_FIXED_IP,
    "addFloatingIp": ADD_FLOATING_IP,
    "removeFloatingIp": REMOVE_FLOATING_IP,
}

_ACTION_PATH = "POST /servers/{server_id}/action"

ACTION_RULES = [
    rule(PAUSE, MEMBER, "Pause a server.", _ACTION_PATH),
    rule(UNPAUSE, MEMBER, "Unpause a server.", _ACTION_PATH),
    rule(SUSPEND, MEMBER, "Suspend a server.", _ACTION_PATH),
    rule(RESUME, MEMBER, "Resume a server.", _ACTION_PATH),
    rule(REBUILD, MEMBER, "Rebuild a server.", _ACTION_PATH),
    rule(
        REBUILD_TRUSTED_CERTS,
        MEMBER,
        "Specify trusted certificates for the new image of a server.",
        _ACTION_PATH,
    ),
    rule(CREATE_IMAGE, MEMBER, "Create an image of a server.", _ACTION_PATH),
    rule(
        CREATE_BACKUP, MEMBER, "Create a backup of a server, and rotate its backups.", _ACTION_PATH
    ),
    rule(RESCUE, MEMBER, "Start a server from another image, to repair its disks.", _ACTION_PATH),
    rule(UNRESCUE, MEMBER, "Unrescue a server.", _ACTION_PATH),
    rule(ADMIN_PASSWORD, MEMBER, "Change a server's administrator's password.", _ACTION_PATH),
    rule(LOCK, MEMBER, "Lock a server: only administrators may act on it then.", _ACTION_PATH),
    rule(UNLOCK, MEMBER, "Unlock a server.", _ACTION_PATH),
    rule(UNLOCK_OVERRIDE, ADMIN, "Unlock a server that another caller has locked.", _ACTION_PATH),
    rule(RESET_STATE, ADMIN, "Declare a server to be active or in error.", _ACTION_PATH),
    rule(INJECT_NETWORK_INFO, ADMIN, "Inject a guest's network information again.", _ACTION_PATH),
    rule(CONSOLE_OUTPUT, MEMBER, "Read what a server has written to its console.", _ACTION_PATH),
    rule(
        FORCE_DELETE,
        MEMBER,
        "Delete a server at once.",
        _ACTION_PATH,
        formerly="os_compute_api:os-deferred-delete",
    ),
    rule(
        RESTORE,
        MEMBER,
        "Restore a server that was deleted, before it is reclaimed.",
        _ACTION_PATH,
        formerly="os_compute_api:os-deferred-delete",
    ),
    rule(
        ADD_SECURITY_GROUP,
        MEMBER,
        "Add a security group to a server.",
        _ACTION_PATH,
        formerly="os_compute_api:os-security-groups",
    ),
    rule(
        REMOVE_SECURITY_GROUP,
        MEMBER,
        "Remove a security group from a server.",
        _ACTION_PATH,
        formerly="os_compute_api:os-security-groups",
    ),
    rule(
        ADD_FIXED_IP,
        MEMBER,
        "Add an address to a server, before 2.44.",
        _ACTION_PATH,
        formerly="os_compute_api:os-multinic",
    ),
    rule(
        REMOVE_FIXED_IP,
        MEMBER,
        "Remove an address from a server, before 2.44.",
        _ACTION_PATH,
        formerly="os_compute_api:os-multinic",
    ),
    rule(
        ADD_FLOATING_IP,
        MEMBER,
        "Add a floating address to a server, before 2.44.",
        _ACTION_PATH,
        formerly="os_compute_api:os-floating-ips",
    ),
    rule(
        REMOVE_FLOATING_IP,
        MEMBER,
        "Remove a floating address, before 2.44.",
        _ACTION_PATH,
        formerly="os_compute_api:os-floating-ips",
    ),
]


CREATE_CONSOLE = "os_compute_api:os-remote-consoles"
# Action in the request body -> its policy.
CONSOLE_POLICIES: Final = dict.fromkeys(
    ("os-getVNCConsole", "os-getSPICEConsole", "os-getRDPConsole", "os-getSerialConsole"),
    CREATE_CONSOLE,
)

CONSOLE_RULES = [
    rule(
        CREATE_CONSOLE,
        MEMBER,
        "Use the console of a server.",
        "POST /servers/{server_id}/remote-consoles",
        "POST /servers/{server_id}/action",
    ),
]


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
# Action in the request body -> its policy.
ACTIONS: Final = {
    "os-start": START,
    "os-stop": STOP,
    "reboot": REBOOT,
    **ACTION_POLICIES,
    **CONSOLE_POLICIES,
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
        "See a server's host and other internal attributes.",
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
        "See in a server's fault how many hosts were refused for which reason; all users who may"
        " see the server see the reasons.",
        f"GET {_SERVER}",
        "GET /servers/detail",
    ),
    rule(CREATE, MEMBER, "Create servers.", "POST /servers"),
    rule(
        FORCED_HOST,
        ADMIN,
        "Specify the host of a new server in its availability zone, zone:host:node.",
        "POST /servers",
    ),
    rule(REQUESTED_HOST, ADMIN, "Specify the host of a new server.", "POST /servers"),
    rule(
        HOST_HINTS,
        ADMIN,
        "Use the scheduler hints build_near_host_ip and query: their results reveal the names"
        " of hosts.",
        "POST /servers",
    ),
    rule(
        ZERO_DISK,
        ADMIN,
        "Create servers of flavors whose root disk has size 0: it is as large as the image.",
        "POST /servers",
    ),
    rule(
        TRUSTED_CERTS,
        MEMBER,
        "Specify trusted certificates for a server's image.",
        "POST /servers",
    ),
    rule(UPDATE, MEMBER, "Change a server's name or description.", f"PUT {_SERVER}"),
    rule(
        ACT,
        " or ".join(f"rule:{action}" for action in dict.fromkeys(ACTIONS.values())),
        "Use any action on a server; each action has a policy of its own, too.",
        _ACTION,
    ),
    rule(START, MEMBER, "Start a stopped server.", _ACTION),
    rule(STOP, MEMBER, "Stop a server.", _ACTION),
    rule(REBOOT, MEMBER, "Reboot a server.", _ACTION),
    rule(DELETE, MEMBER, "Delete a server.", f"DELETE {_SERVER}"),
]
