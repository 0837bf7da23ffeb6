"""The table of routes: everything that Compute and Placement serve, and the checks of each request.

It joins the ``ROUTES`` of the modules of resources; a test finds one that is not listed here.
"""

from typing import Final

from roost.api import openapi
from roost.api.compute import (
    aggregates,
    availability_zones,
    flavor_extra_specs,
    flavors,
    hypervisors,
    keypairs,
    limits,
    migrations,
    quotas,
    server_groups,
    services,
    tenant_usage,
    versions,
)
from roost.api.legacy import extensions, hosts, networks, usage_audit_log
from roost.api.legacy import images as legacy_images
from roost.api.legacy import security_groups as legacy_security_groups
from roost.api.placement import allocations, candidates, names, providers
from roost.api.route import Route
from roost.api.servers import (
    consoles,
    diagnostics,
    external_events,
    instance_actions,
    interfaces,
    metadata,
    password,
    servers,
    tags,
    volume_attachments,
)
from roost.api.servers import migrations as servers_migrations
from roost.api.servers import security_groups as servers_security_groups

_TABLES: Final = (
    versions.ROUTES,
    openapi.ROUTES,
    flavors.ROUTES,
    flavor_extra_specs.ROUTES,
    servers.SERVERS_ROUTES,
    consoles.CONSOLES_ROUTES,
    consoles.CONSOLE_TOKENS_ROUTES,
    diagnostics.ROUTES,
    servers.IPS_ROUTES,
    password.ROUTES,
    servers_security_groups.ROUTES,
    servers.TOPOLOGY_ROUTES,
    metadata.ROUTES,
    tags.ROUTES,
    interfaces.ROUTES,
    volume_attachments.ROUTES,
    instance_actions.ROUTES,
    server_groups.ROUTES,
    keypairs.ROUTES,
    services.ROUTES,
    hosts.ROUTES,
    hypervisors.ROUTES,
    aggregates.ROUTES,
    availability_zones.ROUTES,
    limits.ROUTES,
    quotas.ROUTES,
    tenant_usage.ROUTES,
    usage_audit_log.ROUTES,
    migrations.ROUTES,
    servers_migrations.ROUTES,
    extensions.ROUTES,
    external_events.ROUTES,
    networks.ROUTES,
    legacy_security_groups.ROUTES,
    legacy_images.ROUTES,
    providers.ROUTES,
    allocations.ROUTES,
    names.ROUTES,
    candidates.ROUTES,
)
ROUTES: Final[tuple[Route, ...]] = tuple(route for table in _TABLES for route in table)
# Clients read these documents before they authenticate: no token is needed.
_OPEN: Final = (versions.VERSIONS_POLICY, openapi.OPENAPI_POLICY)
OPEN_PATHS: Final = frozenset(route.path for route in ROUTES if route.policy in _OPEN)
