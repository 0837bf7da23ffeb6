"""Rules of the OpenAPI document."""

from roost.api.policies.base import ANYBODY, rule

SHOW = "roost:openapi"

RULES = [
    rule(SHOW, ANYBODY, "Read the description of the API, as tools do.", "GET /openapi.json"),
]
