"""Policies of servers, of actions on them and of their remote consoles."""

from typing import Final

from roost.api.policy import ADMIN, MEMBER, READER, Rule

PAUSE = Rule("os_compute_api:os-pause-server:pause", MEMBER, "Pause a server.")
UNPAUSE = Rule("os_compute_api:os-pause-server:unpause", MEMBER, "Unpause a server.")
SUSPEND = Rule("os_compute_api:os-suspend-server:suspend", MEMBER, "Suspend a server.")
RESUME = Rule("os_compute_api:os-suspend-server:resume", MEMBER, "Resume a server.")
REBUILD = Rule("os_compute_api:servers:rebuild", MEMBER, "Rebuild a server.")
REBUILD_TRUSTED_CERTS = Rule(
    "os_compute_api:servers:rebuild:trusted_certs",
    MEMBER,
    "Specify trusted certificates for the new image of a server.",
)
CREATE_IMAGE = Rule("os_compute_api:servers:create_image", MEMBER, "Create an image of a server.")
CREATE_BACKUP = Rule(
    "os_compute_api:os-create-backup",
    MEMBER,
    "Create a backup of a server, and rotate its backups.",
)
RESCUE = Rule(
    "os_compute_api:os-rescue", MEMBER, "Start a server from another image, to repair its disks."
)
UNRESCUE = Rule("os_compute_api:os-unrescue", MEMBER, "Unrescue a server.")
ADMIN_PASSWORD = Rule(
    "os_compute_api:os-admin-password", MEMBER, "Change a server's administrator's password."
)
LOCK = Rule(
    "os_compute_api:os-lock-server:lock",
    MEMBER,
    "Lock a server: only administrators may act on it then.",
)
UNLOCK = Rule("os_compute_api:os-lock-server:unlock", MEMBER, "Unlock a server.")
UNLOCK_OVERRIDE = Rule(
    "os_compute_api:os-lock-server:unlock:unlock_override",
    ADMIN,
    "Unlock a server that another caller has locked.",
)
RESET_STATE = Rule(
    "os_compute_api:os-admin-actions:reset_state",
    ADMIN,
    "Declare a server to be active or in error.",
)
INJECT_NETWORK_INFO = Rule(
    "os_compute_api:os-admin-actions:inject_network_info",
    ADMIN,
    "Inject a guest's network information again.",
)
CONSOLE_OUTPUT = Rule(
    "os_compute_api:os-console-output", MEMBER, "Read what a server has written to its console."
)
FORCE_DELETE = Rule(
    "os_compute_api:os-deferred-delete:force",
    MEMBER,
    "Delete a server at once.",
    formerly="os_compute_api:os-deferred-delete",
)
RESTORE = Rule(
    "os_compute_api:os-deferred-delete:restore",
    MEMBER,
    "Restore a server that was deleted, before it is reclaimed.",
    formerly="os_compute_api:os-deferred-delete",
)
ADD_SECURITY_GROUP = Rule(
    "os_compute_api:os-security-groups:add",
    MEMBER,
    "Add a security group to a server.",
    formerly="os_compute_api:os-security-groups",
)
REMOVE_SECURITY_GROUP = Rule(
    "os_compute_api:os-security-groups:remove",
    MEMBER,
    "Remove a security group from a server.",
    formerly="os_compute_api:os-security-groups",
)
ADD_FIXED_IP = Rule(
    "os_compute_api:os-multinic:add",
    MEMBER,
    "Add an address to a server, before 2.44.",
    formerly="os_compute_api:os-multinic",
)
REMOVE_FIXED_IP = Rule(
    "os_compute_api:os-multinic:remove",
    MEMBER,
    "Remove an address from a server, before 2.44.",
    formerly="os_compute_api:os-multinic",
)
ADD_FLOATING_IP = Rule(
    "os_compute_api:os-floating-ips:add",
    MEMBER,
    "Add a floating address to a server, before 2.44.",
    formerly="os_compute_api:os-floating-ips",
)
REMOVE_FLOATING_IP = Rule(
    "os_compute_api:os-floating-ips:remove",
    MEMBER,
    "Remove a floating address, before 2.44.",
    formerly="os_compute_api:os-floating-ips",
)
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

CREATE_CONSOLE = Rule("os_compute_api:os-remote-consoles", MEMBER, "Use the console of a server.")
# Action in the request body -> its policy.
CONSOLE_POLICIES: Final = dict.fromkeys(
    ("os-getVNCConsole", "os-getSPICEConsole", "os-getRDPConsole", "os-getSerialConsole"),
    CREATE_CONSOLE,
)


SHOW = Rule("os_compute_api:servers:show", READER, "Show a server.")
START = Rule("os_compute_api:servers:start", MEMBER, "Start a stopped server.")
STOP = Rule("os_compute_api:servers:stop", MEMBER, "Stop a server.")
REBOOT = Rule("os_compute_api:servers:reboot", MEMBER, "Reboot a server.")
# Action in the request body -> its policy.
ACTIONS: Final = {
    "os-start": START,
    "os-stop": STOP,
    "reboot": REBOOT,
    **ACTION_POLICIES,
    **CONSOLE_POLICIES,
}
ACTION_RULES = (*dict.fromkeys(ACTIONS.values()), REBUILD_TRUSTED_CERTS, UNLOCK_OVERRIDE)
ALL_PROJECTS = Rule(
    "os_compute_api:servers:index:get_all_tenants", ADMIN, "List the servers of all projects."
)
ALL_FILTERS = Rule(
    "os_compute_api:servers:allow_all_filters",
    ADMIN,
    "Filter lists by host, deletion and the like.",
)
FORCED_HOST = Rule(
    "os_compute_api:servers:create:forced_host",
    ADMIN,
    "Specify the host of a new server in its availability zone, zone:host:node.",
)
TRUSTED_CERTS = Rule(
    "os_compute_api:servers:create:trusted_certs",
    MEMBER,
    "Specify trusted certificates for a server's image.",
)
ZERO_DISK = Rule(
    "os_compute_api:servers:create:zero_disk_flavor",
    ADMIN,
    "Create servers of flavors whose root disk has size 0: it is as large as the image.",
)
REQUESTED_HOST = Rule(
    "compute:servers:create:requested_destination", ADMIN, "Specify the host of a new server."
)
HOST_HINTS = Rule(
    "roost:servers:create:host_hints",
    ADMIN,
    "Use the scheduler hints build_near_host_ip and query: their results reveal the names"
    " of hosts.",
)
SHOW_HOST = Rule(
    "os_compute_api:os-extended-server-attributes",
    ADMIN,
    "See a server's host and other internal attributes.",
)
SHOW_HOST_STATUS = Rule(
    "os_compute_api:servers:show:host_status", ADMIN, "See whether a server's host is up."
)
SHOW_PLACEMENT_COUNTS = Rule(
    "roost:servers:show:placement_counts",
    ADMIN,
    "See in a server's fault how many hosts were refused for which reason; all users who may"
    " see the server see the reasons.",
)
