"""Rules of quotas."""

from roost.api.policies.base import ADMIN, ANYBODY, READER, rule

SHOW = "os_compute_api:os-quota-sets:show"
DEFAULTS = "os_compute_api:os-quota-sets:defaults"
DETAIL = "os_compute_api:os-quota-sets:detail"
UPDATE = "os_compute_api:os-quota-sets:update"
DELETE = "os_compute_api:os-quota-sets:delete"
SHOW_CLASS = "os_compute_api:os-quota-class-sets:show"
UPDATE_CLASS = "os_compute_api:os-quota-class-sets:update"

_SET = "/os-quota-sets/{project_id}"
_CLASS = "/os-quota-class-sets/{class_name}"

RULES = [
    rule(SHOW, READER, "Show the quotas of a project, or of a user in it.", f"GET {_SET}"),
    rule(DEFAULTS, ANYBODY, "Show the quotas of a new project.", f"GET {_SET}/defaults"),
    rule(DETAIL, READER, "Show quotas and their usage.", f"GET {_SET}/detail"),
    rule(UPDATE, ADMIN, "Set the quotas of a project, or of a user in it.", f"PUT {_SET}"),
    rule(
        DELETE,
        ADMIN,
        "Let a project have the default quotas again, or a user the project's.",
        f"DELETE {_SET}",
    ),
    rule(SHOW_CLASS, ADMIN, "Show the quotas of a class of projects.", f"GET {_CLASS}"),
    rule(UPDATE_CLASS, ADMIN, "Set the quotas of a class of projects.", f"PUT {_CLASS}"),
]
