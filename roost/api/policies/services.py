"""Rules of the cloud's daemons."""

from roost.api.policies.base import ADMIN, rule

_ROOT = "os_compute_api:os-services"
LIST = f"{_ROOT}:list"
UPDATE = f"{_ROOT}:update"
DELETE = f"{_ROOT}:delete"

RULES = [
    rule(LIST, ADMIN, "List the daemons of all cells.", "GET /os-services", formerly=_ROOT),
    rule(
        UPDATE,
        ADMIN,
        "Enable or disable a daemon, or say that it is down.",
        "PUT /os-services/{service_id}",
        "PUT /os-services/enable",
        "PUT /os-services/disable",
        "PUT /os-services/disable-log-reason",
        "PUT /os-services/force-down",
        formerly=_ROOT,
    ),
    rule(
        DELETE,
        ADMIN,
        "Delete a daemon that is gone.",
        "DELETE /os-services/{service_id}",
        formerly=_ROOT,
    ),
]
