"""Rules of the diagnostics of servers."""

from roost.api.policies.base import ADMIN, rule

SHOW = "os_compute_api:os-server-diagnostics"

RULES = [
    rule(SHOW, ADMIN, "See how a server's guest does.", "GET /servers/{server_id}/diagnostics"),
]
