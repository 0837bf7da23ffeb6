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

_NOUNS: Final = (
    versions,
    openapi,
    flavors,
    servers,
    server_consoles,
    console_tokens,
    server_diagnostics,
    server_ips,
    server_password,
    server_security_groups,
    server_topology,
    server_metadata,
    server_tags,
    server_interfaces,
    instance_actions,
    server_groups,
    keypairs,
    services,
    hosts,
    hypervisors,
    aggregates,
    availability_zones,
    limits,
    quota_sets,
    tenant_usage,
    usage_audit_log,
    migrations,
    extensions,
    server_external_events,
    network_proxies,
    security_group_proxies,
    image_proxies,
    images,
    networks,
    network_tags,
    security_groups,
)
ROUTES: Final[tuple[Route, ...]] = tuple(route for noun in _NOUNS for route in noun.ROUTES)
# What clients read before they authenticate, so nobody is asked who they are.
_OPEN: Final = (versions_policies.VERSIONS, openapi_policies.SHOW)
OPEN_PATHS: Final = frozenset(route.path for route in ROUTES if route.policy in _OPEN)
