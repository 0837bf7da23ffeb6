"""Rules of what is done to a server beyond starting and stopping it."""

from typing import Final

from roost.api.policies.base import ADMIN, MEMBER, rule

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
# What a body calls an action -> its rule.
ACTIONS: Final = {
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

_ACTION = "POST /servers/{server_id}/action"

RULES = [
    rule(PAUSE, MEMBER, "Pause a server.", _ACTION),
    rule(UNPAUSE, MEMBER, "Let a paused server go on.", _ACTION),
    rule(SUSPEND, MEMBER, "Suspend a server.", _ACTION),
    rule(RESUME, MEMBER, "Let a suspended server go on.", _ACTION),
    rule(REBUILD, MEMBER, "Rebuild a server.", _ACTION),
    rule(
        REBUILD_TRUSTED_CERTS,
        MEMBER,
        "Name the certificates that the new image of a server is trusted by.",
        _ACTION,
    ),
    rule(CREATE_IMAGE, MEMBER, "Make an image of a server.", _ACTION),
    rule(CREATE_BACKUP, MEMBER, "Make a backup of a server, of which so many are kept.", _ACTION),
    rule(RESCUE, MEMBER, "Start a server from another image, to mend its disks.", _ACTION),
    rule(UNRESCUE, MEMBER, "Start a rescued server as usual.", _ACTION),
    rule(ADMIN_PASSWORD, MEMBER, "Change a server's administrator's password.", _ACTION),
    rule(LOCK, MEMBER, "Lock a server: only administrators may act on it then.", _ACTION),
    rule(UNLOCK, MEMBER, "Unlock a server.", _ACTION),
    rule(UNLOCK_OVERRIDE, ADMIN, "Unlock a server that somebody else has locked.", _ACTION),
    rule(RESET_STATE, ADMIN, "Declare a server to be active or in error.", _ACTION),
    rule(INJECT_NETWORK_INFO, ADMIN, "Have a guest told of its network anew.", _ACTION),
    rule(CONSOLE_OUTPUT, MEMBER, "Read what a server has written to its console.", _ACTION),
    rule(
        FORCE_DELETE,
        MEMBER,
        "Delete a server at once.",
        _ACTION,
        formerly="os_compute_api:os-deferred-delete",
    ),
    rule(
        RESTORE,
        MEMBER,
        "Restore a server that was deleted, before it is reclaimed.",
        _ACTION,
        formerly="os_compute_api:os-deferred-delete",
    ),
    rule(
        ADD_SECURITY_GROUP,
        MEMBER,
        "Let a server be in a security group.",
        _ACTION,
        formerly="os_compute_api:os-security-groups",
    ),
    rule(
        REMOVE_SECURITY_GROUP,
        MEMBER,
        "Take a server out of a security group.",
        _ACTION,
        formerly="os_compute_api:os-security-groups",
    ),
    rule(
        ADD_FIXED_IP,
        MEMBER,
        "Give a server an address, before 2.44.",
        _ACTION,
        formerly="os_compute_api:os-multinic",
    ),
    rule(
        REMOVE_FIXED_IP,
        MEMBER,
        "Take an address from a server, before 2.44.",
        _ACTION,
        formerly="os_compute_api:os-multinic",
    ),
    rule(
        ADD_FLOATING_IP,
        MEMBER,
        "Give a server a floating address, before 2.44.",
        _ACTION,
        formerly="os_compute_api:os-floating-ips",
    ),
    rule(
        REMOVE_FLOATING_IP,
        MEMBER,
        "Take a floating address away, before 2.44.",
        _ACTION,
        formerly="os_compute_api:os-floating-ips",
    ),
]
