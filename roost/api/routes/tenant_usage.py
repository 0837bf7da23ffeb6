"""What projects have used."""

from typing import Final

from roost.api.policies import tenant_usage as policies
from roost.api.route import Route, row
from roost.api.schemas import tenant_usage as schemas
from roost.api.tenant_usage import TenantUsage

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-simple-tenant-usage",
        (TenantUsage, TenantUsage.list_all),
        policies.LIST,
        query=schemas.LIST_QUERY,
        slash=False,
    ),
    row(
        "GET /v2.1/os-simple-tenant-usage/{project_id}",
        (TenantUsage, TenantUsage.show),
        policies.SHOW,
        query=schemas.SHOW_QUERY,
    ),
)
