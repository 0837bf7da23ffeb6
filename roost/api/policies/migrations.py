"""Rules of migrations."""

from roost.api.policies.base import ADMIN, MANAGER, rule

LIST = "os_compute_api:os-migrations:index"
LIST_OF_SERVER = "os_compute_api:servers:migrations:index"
SHOW_OF_SERVER = "os_compute_api:servers:migrations:show"

_OF_SERVER = "/servers/{server_id}/migrations"

RULES = [
    rule(LIST, MANAGER, "List migrations.", "GET /os-migrations"),
    rule(LIST_OF_SERVER, MANAGER, "List the migrations of a server.", f"GET {_OF_SERVER}"),
    rule(
        SHOW_OF_SERVER,
        ADMIN,
        "Show a migration of a server.",
        f"GET {_OF_SERVER}/{{migration_id}}",
    ),
]
