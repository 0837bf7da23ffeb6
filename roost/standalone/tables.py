"""All routes and policies of roost-api: Compute's, and those of the standalone APIs."""

from typing import Final

from oslo_policy import policy

from roost.api import route, routes
from roost.api.policy import ROLES
from roost.api.route import Route
from roost.standalone import images, network_routes, security_groups

ROUTES: Final[tuple[Route, ...]] = (
    *routes.ROUTES,
    *images.ROUTES,
    *network_routes.NETWORKS_ROUTES,
    *network_routes.NETWORK_TAGS_ROUTES,
    *security_groups.ROUTES,
)


def list_rules() -> list[policy.RuleDefault]:
    """Return all rules: the roles, then by route. The sample of the policy file shows them."""
    return [*ROLES, *route.list_rules(ROUTES)]
