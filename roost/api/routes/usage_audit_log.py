"""The log of usage audits."""

from typing import Final

from roost.api.policies import usage_audit_log as policies
from roost.api.route import Route, row
from roost.api.usage_audit_log import UsageAuditLog

_LOG: Final = "/v2.1/os-instance_usage_audit_log"

ROUTES: Final[tuple[Route, ...]] = (
    row(f"GET {_LOG}", (UsageAuditLog, UsageAuditLog.show_last), policies.LIST),
    row(f"GET {_LOG}/{{before}}", (UsageAuditLog, UsageAuditLog.show_before), policies.SHOW),
)
