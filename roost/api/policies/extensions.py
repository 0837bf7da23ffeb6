"""Rules of what used to be extensions."""

from roost.api.policies.base import ANYBODY, rule

READ = "os_compute_api:extensions"

RULES = [
    rule(
        READ,
        ANYBODY,
        "See which of the former extensions there are.",
        "GET /extensions",
        "GET /extensions/{alias}",
    ),
]
