"""Rules of the tokens that open consoles."""

from roost.api.policies.base import ADMIN, rule

SHOW = "os_compute_api:os-console-auth-tokens"

RULES = [
    rule(
        SHOW,
        ADMIN,
        "Show where the token of a console leads.",
        "GET /os-console-auth-tokens/{console_token}",
    ),
]
