"""Rules of flavors and their extra specs."""

from typing import Final

from roost.api.policies.base import ADMIN, READER, rule

LIST = "os_compute_api:flavors:index"
SHOW = "os_compute_api:flavors:show"
CREATE = "os_compute_api:os-flavor-manage:create"
UPDATE = "os_compute_api:os-flavor-manage:update"
DELETE = "os_compute_api:os-flavor-manage:delete"
ALL = "os_compute_api:os-flavor-access"
ACT = "roost:flavors:action"
ADD_ACCESS = f"{ALL}:add_tenant_access"
REMOVE_ACCESS = f"{ALL}:remove_tenant_access"
ACTIONS: Final = {"addTenantAccess": ADD_ACCESS, "removeTenantAccess": REMOVE_ACCESS}
LIST_SPECS = "os_compute_api:os-flavor-extra-specs:index"
SHOW_SPEC = "os_compute_api:os-flavor-extra-specs:show"
CREATE_SPECS = "os_compute_api:os-flavor-extra-specs:create"
UPDATE_SPEC = "os_compute_api:os-flavor-extra-specs:update"
DELETE_SPEC = "os_compute_api:os-flavor-extra-specs:delete"

_FLAVOR = "/flavors/{flavor_id}"
_ACTION = f"POST {_FLAVOR}/action"
_SPECS = f"{_FLAVOR}/os-extra_specs"

RULES = [
    rule(LIST, READER, "List flavors.", "GET /flavors", "GET /flavors/detail"),
    rule(SHOW, READER, "Show a flavor.", f"GET {_FLAVOR}"),
    rule(
        ALL,
        ADMIN,
        "See flavors that are not public, and who has access to them.",
        "GET /flavors",
        f"GET {_FLAVOR}",
        f"GET {_FLAVOR}/os-flavor-access",
    ),
    rule(
        ACT,
        " or ".join(f"rule:{action}" for action in ACTIONS.values()),
        "Act on a flavor at all; each action has a rule of its own, too.",
        _ACTION,
    ),
    rule(ADD_ACCESS, ADMIN, "Give a project access to a flavor.", _ACTION),
    rule(REMOVE_ACCESS, ADMIN, "Take a project's access to a flavor away.", _ACTION),
    rule(CREATE, ADMIN, "Create a flavor.", "POST /flavors"),
    rule(UPDATE, ADMIN, "Change a flavor's description.", f"PUT {_FLAVOR}"),
    rule(DELETE, ADMIN, "Delete a flavor.", f"DELETE {_FLAVOR}"),
    rule(LIST_SPECS, READER, "List a flavor's extra specs.", f"GET {_SPECS}"),
    rule(SHOW_SPEC, READER, "Show an extra spec of a flavor.", f"GET {_SPECS}/{{key}}"),
    rule(CREATE_SPECS, ADMIN, "Add extra specs to a flavor.", f"POST {_SPECS}"),
    rule(UPDATE_SPEC, ADMIN, "Change an extra spec of a flavor.", f"PUT {_SPECS}/{{key}}"),
    rule(DELETE_SPEC, ADMIN, "Delete an extra spec of a flavor.", f"DELETE {_SPECS}/{{key}}"),
]
