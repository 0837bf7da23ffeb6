"""Rules of what a project may use."""

from roost.api.policies.base import ADMIN, READER, rule

SHOW = "os_compute_api:limits"
OTHER_PROJECT = "os_compute_api:limits:other_project"

RULES = [
    rule(SHOW, READER, "Show the limits and the usage of one's project.", "GET /limits"),
    rule(
        OTHER_PROJECT,
        ADMIN,
        "Show those of another project.",
        "GET /limits",
        formerly="os_compute_api:os-used-limits",
    ),
]
