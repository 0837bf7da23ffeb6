"""The default policy of every route, under the names that OpenStack's operators know.

``list_rules`` is also what the policy sample is generated from.
"""

from oslo_policy import policy

from roost.api.policies import (
    aggregates,
    availability_zones,
    base,
    console_tokens,
    extensions,
    flavors,
    hosts,
    hypervisors,
    images,
    instance_actions,
    keypairs,
    limits,
    migrations,
    network_proxies,
    networks,
    openapi,
    quota_sets,
    security_group_proxies,
    security_groups,
    server_actions,
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

_TABLES = (
    base.RULES,
    versions.RULES,
    openapi.RULES,
    flavors.RULES,
    servers.RULES,
    server_consoles.RULES,
    console_tokens.RULES,
    server_diagnostics.RULES,
    server_ips.RULES,
    server_password.RULES,
    server_security_groups.RULES,
    server_topology.RULES,
    server_metadata.RULES,
    server_tags.RULES,
    server_interfaces.RULES,
    server_actions.RULES,
    instance_actions.RULES,
    server_groups.RULES,
    keypairs.RULES,
    services.RULES,
    hosts.RULES,
    hypervisors.RULES,
    aggregates.RULES,
    availability_zones.RULES,
    limits.RULES,
    quota_sets.RULES,
    tenant_usage.RULES,
    usage_audit_log.RULES,
    migrations.RULES,
    extensions.RULES,
    server_external_events.RULES,
    network_proxies.RULES,
    security_group_proxies.RULES,
    images.RULES,
    networks.RULES,
    security_groups.RULES,
)


def list_rules() -> list[policy.RuleDefault]:
    """Return all rules: the roles first, then noun by noun."""
    return [rule for table in _TABLES for rule in table]
