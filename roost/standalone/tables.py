"""All routes and policies of roost-api: Compute's, and those of the standalone APIs."""

from typing import Final

from oslo_policy import policy

from roost.api import policies, routes
from roost.api.route import Route
from roost.standalone import image_schemas, images, network_routes, network_schemas, security_groups

ROUTES: Final[tuple[Route, ...]] = (
    *routes.ROUTES,
    *images.ROUTES,
    *network_routes.NETWORKS_ROUTES,
    *network_routes.NETWORK_TAGS_ROUTES,
    *security_groups.ROUTES,
)


def list_rules() -> list[policy.RuleDefault]:
    """Return all policies; the sample of the policy file is generated from them, too."""
    return [
        *policies.list_rules(),
        *image_schemas.RULES,
        *network_schemas.RULES,
        *security_groups.RULES,
    ]
