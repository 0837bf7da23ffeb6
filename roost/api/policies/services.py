"""Rules of the cloud's daemons."""

from roost.api.policies.base import ADMIN, rule

LIST = "os_compute_api:os-services:list"
UPDATE = "os_compute_api:os-services:update"

RULES = [
    rule(LIST, ADMIN, "List the daemons of all cells.", "GET /os-services"),
    rule(
        UPDATE,
        ADMIN,
        "Enable or disable a daemon, or say that it is down.",
        "PUT /os-services/{service_id}",
        "PUT /os-services/enable",
        "PUT /os-services/disable",
        "PUT /os-services/disable-log-reason",
        "PUT /os-services/force-down",
    ),
]
