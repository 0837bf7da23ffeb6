"""Rules of what projects have used."""

from roost.api.policies.base import ADMIN, READER, rule

LIST = "os_compute_api:os-simple-tenant-usage:list"
SHOW = "os_compute_api:os-simple-tenant-usage:show"

_USAGE = "/os-simple-tenant-usage"

RULES = [
    rule(LIST, ADMIN, "Show what all projects have used over some time.", f"GET {_USAGE}"),
    rule(SHOW, READER, "Show what one project has used.", f"GET {_USAGE}/{{project_id}}"),
]
