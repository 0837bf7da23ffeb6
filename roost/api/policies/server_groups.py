"""Rules of server groups."""

from roost.api.policies.base import ADMIN, MEMBER, READER, rule

LIST = "os_compute_api:os-server-groups:index"
ALL_PROJECTS = "os_compute_api:os-server-groups:index:all_projects"
CREATE = "os_compute_api:os-server-groups:create"
SHOW = "os_compute_api:os-server-groups:show"
DELETE = "os_compute_api:os-server-groups:delete"

_GROUP = "/os-server-groups/{server_group_id}"

RULES = [
    rule(LIST, READER, "List server groups.", "GET /os-server-groups"),
    rule(ALL_PROJECTS, ADMIN, "List those of all projects.", "GET /os-server-groups"),
    rule(CREATE, MEMBER, "Create a server group.", "POST /os-server-groups"),
    rule(
        SHOW,
        READER,
        "Show a server group, or let a new server join it.",
        f"GET {_GROUP}",
        "POST /servers",
    ),
    rule(DELETE, MEMBER, "Delete a server group; its servers stay.", f"DELETE {_GROUP}"),
]
