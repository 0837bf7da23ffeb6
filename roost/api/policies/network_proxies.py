"""Rules of networks in the words of Compute before 2.36."""

from roost.api.policies.base import ANYBODY, MEMBER, READER, rule

LIST = "os_compute_api:os-networks:list"
SHOW = "os_compute_api:os-networks:show"
LIST_OF_TENANT = "os_compute_api:os-tenant-networks:list"
SHOW_OF_TENANT = "os_compute_api:os-tenant-networks:show"
POOLS = "os_compute_api:os-floating-ip-pools"
LIST_FLOATING_IPS = "os_compute_api:os-floating-ips:list"
SHOW_FLOATING_IP = "os_compute_api:os-floating-ips:show"
CREATE_FLOATING_IP = "os_compute_api:os-floating-ips:create"
DELETE_FLOATING_IP = "os_compute_api:os-floating-ips:delete"

_VIEW = "os_compute_api:os-networks:view"
_TENANT = "os_compute_api:os-tenant-networks"
_FLOATING = "os_compute_api:os-floating-ips"
_NETWORK = "{network_id}"
_IP = "/os-floating-ips/{floating_ip_id}"

RULES = [
    rule(LIST, READER, "List networks.", "GET /os-networks", formerly=_VIEW),
    rule(SHOW, READER, "Show a network.", f"GET /os-networks/{_NETWORK}", formerly=_VIEW),
    rule(
        LIST_OF_TENANT,
        READER,
        "List a project's networks.",
        "GET /os-tenant-networks",
        formerly=_TENANT,
    ),
    rule(
        SHOW_OF_TENANT,
        READER,
        "Show one of them.",
        f"GET /os-tenant-networks/{_NETWORK}",
        formerly=_TENANT,
    ),
    rule(POOLS, ANYBODY, "List the pools of floating addresses.", "GET /os-floating-ip-pools"),
    rule(
        LIST_FLOATING_IPS,
        READER,
        "List floating addresses.",
        "GET /os-floating-ips",
        formerly=_FLOATING,
    ),
    rule(SHOW_FLOATING_IP, READER, "Show a floating address.", f"GET {_IP}", formerly=_FLOATING),
    rule(
        CREATE_FLOATING_IP,
        MEMBER,
        "Take a floating address.",
        "POST /os-floating-ips",
        formerly=_FLOATING,
    ),
    rule(
        DELETE_FLOATING_IP,
        MEMBER,
        "Give a floating address back.",
        f"DELETE {_IP}",
        formerly=_FLOATING,
    ),
]
