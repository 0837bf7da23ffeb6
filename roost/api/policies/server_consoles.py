"""Rules of the consoles of servers that have a screen."""

from typing import Final

from roost.api.policies.base import MEMBER, rule

CREATE = "os_compute_api:os-remote-consoles"
# What a body calls an action -> its rule.
ACTIONS: Final = dict.fromkeys(
    ("os-getVNCConsole", "os-getSPICEConsole", "os-getRDPConsole", "os-getSerialConsole"), CREATE
)

RULES = [
    rule(
        CREATE,
        MEMBER,
        "Use the console of a server.",
        "POST /servers/{server_id}/remote-consoles",
        "POST /servers/{server_id}/action",
    ),
]
