"""Rule of what neighbours tell of servers."""

from roost.api.policies.base import SERVICE, rule

CREATE = "os_compute_api:os-server-external-events:create"

RULES = [
    rule(
        CREATE,
        SERVICE,
        "Tell what happened to servers elsewhere: to their ports and volumes, for instance.",
        "POST /os-server-external-events",
    ),
]
