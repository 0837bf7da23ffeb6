"""Rules of the log of usage audits."""

from roost.api.policies.base import ADMIN, rule

_ROOT = "os_compute_api:os-instance-usage-audit-log"
LIST = f"{_ROOT}:list"
SHOW = f"{_ROOT}:show"

_LOG = "/os-instance_usage_audit_log"

RULES = [
    rule(LIST, ADMIN, "Show the usage audits of the last month.", f"GET {_LOG}", formerly=_ROOT),
    rule(
        SHOW,
        ADMIN,
        "Show those of the month before a time.",
        f"GET {_LOG}/{{before}}",
        formerly=_ROOT,
    ),
]
