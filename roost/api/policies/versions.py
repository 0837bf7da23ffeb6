"""Rules of the version documents."""

from roost.api.policies.base import ANYBODY, rule

VERSIONS = "roost:versions"

RULES = [
    rule(
        VERSIONS,
        ANYBODY,
        "Read the version documents, as clients do before they authenticate.",
        "GET /",
        "GET /v2.1",
        "GET /image",
        "GET /image/v2",
        "GET /network",
        "GET /network/v2.0",
    )
]
