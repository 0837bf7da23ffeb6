"""Rules of the security groups of servers."""

from roost.api.policies.base import READER, rule

LIST = "os_compute_api:os-security-groups:list"

RULES = [
    rule(
        LIST,
        READER,
        "List the security groups of a server.",
        "GET /servers/{server_id}/os-security-groups",
        formerly="os_compute_api:os-security-groups",
    ),
]
