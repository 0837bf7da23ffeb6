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

_NOUNS = (
    base,
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
    server_actions,
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
    images,
    networks,
    security_groups,
)


def list_rules() -> list[policy.RuleDefault]:
    """Return all rules: the roles first, then noun by noun."""
    return [rule for noun in _NOUNS for rule in noun.RULES]
