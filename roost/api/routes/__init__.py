"""The table of routes: everything that the API serves, and what each request must pass.

A module per noun; a test finds one that is not listed here.
"""

from typing import Final

from roost.api.policies import openapi as openapi_policies
from roost.api.policies import versions as versions_policies
from roost.api.route import Route
from roost.api.routes import (
    aggregates,
    availability_zones,
    console_tokens,
    extensions,
    flavors,
    hosts,
    hypervisors,
    image_proxies,
    images,
    instance_actions,
    keypairs,
    limits,
    migrations,
    network_proxies,
    network_tags,
    networks,
    openapi,
    quota_sets,
    security_group_proxies,
    security_groups,
    server_consoles,
    server_diagnostics,
    server_external_events,
    server_groups,
    server_interfaces,
    server_ips,
    server_metadata,
    server_password,
    server_security_groups,
    server_tags,
    server_topology,
    servers,
    services,
    tenant_usage,
    usage_audit_log,
    versions,
)

_TABLES: Final = (
    versions.ROUTES,
    openapi.ROUTES,
    flavors.ROUTES,
    servers.ROUTES,
    server_consoles.ROUTES,
    console_tokens.ROUTES,
    server_diagnostics.ROUTES,
    server_ips.ROUTES,
    server_password.ROUTES,
    server_security_groups.ROUTES,
    server_topology.ROUTES,
    server_metadata.ROUTES,
    server_tags.ROUTES,
    server_interfaces.ROUTES,
    instance_actions.ROUTES,
    server_groups.ROUTES,
    keypairs.ROUTES,
    services.ROUTES,
    hosts.ROUTES,
    hypervisors.ROUTES,
    aggregates.ROUTES,
    availability_zones.ROUTES,
    limits.ROUTES,
    quota_sets.ROUTES,
    tenant_usage.ROUTES,
    usage_audit_log.ROUTES,
    migrations.ROUTES,
    extensions.ROUTES,
    server_external_events.ROUTES,
    network_proxies.ROUTES,
    security_group_proxies.ROUTES,
    image_proxies.ROUTES,
    images.ROUTES,
    networks.ROUTES,
    network_tags.ROUTES,
    security_groups.ROUTES,
)
ROUTES: Final[tuple[Route, ...]] = tuple(route for table in _TABLES for route in table)
# What clients read before they authenticate, so nobody is asked who they are.
_OPEN: Final = (versions_policies.VERSIONS, openapi_policies.SHOW)
OPEN_PATHS: Final = frozenset(route.path for route in ROUTES if route.policy in _OPEN)
