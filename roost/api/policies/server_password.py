"""Rules of the passwords that guests tell."""

from roost.api.policies.base import MEMBER, READER, rule

SHOW = "os_compute_api:os-server-password:show"
CLEAR = "os_compute_api:os-server-password:clear"

_FORMER = "os_compute_api:os-server-password"
_PATH = "/servers/{server_id}/os-server-password"

RULES = [
    rule(
        SHOW,
        READER,
        "Read the encrypted password that a guest has told.",
        f"GET {_PATH}",
        formerly=_FORMER,
    ),
    rule(CLEAR, MEMBER, "Forget it.", f"DELETE {_PATH}", formerly=_FORMER),
]
