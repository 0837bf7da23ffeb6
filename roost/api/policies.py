"""The table of policies: the default rule of each, under its name in Nova.

The sample of the policy file is generated from ``list_rules``, with the rules of the stand-ins.
"""

from oslo_policy import policy

from roost.api import images
from roost.api import policy as api_policy
from roost.api.compute import (
    aggregates,
    availability_zones,
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
from roost.api.legacy import security_groups as legacy_security_groups
from roost.api.policy import ANYBODY, rule
from roost.api.servers import (
    consoles,
    diagnostics,
    external_events,
    instance_actions,
    interfaces,
    metadata,
    password,
    policies,
    servers,
    tags,
    volume_attachments,
)
from roost.api.servers import security_groups as servers_security_groups

OPENAPI_POLICY = "roost:openapi"

OPENAPI_RULES = [
    rule(
        OPENAPI_POLICY,
        ANYBODY,
        "Read the description of the API, as tools do.",
        "GET /openapi.json",
    ),
]


_TABLES = (
    api_policy.RULES,
    versions.RULES,
    OPENAPI_RULES,
    flavors.RULES,
    policies.RULES,
    policies.CONSOLE_RULES,
    consoles.RULES,
    diagnostics.RULES,
    servers.IPS_RULES,
    password.RULES,
    servers_security_groups.RULES,
    servers.TOPOLOGY_RULES,
    metadata.RULES,
    tags.RULES,
    interfaces.RULES,
    volume_attachments.RULES,
    policies.ACTION_RULES,
    instance_actions.RULES,
    server_groups.RULES,
    keypairs.RULES,
    services.RULES,
    hosts.RULES,
    hypervisors.RULES,
    aggregates.RULES,
    availability_zones.RULES,
    limits.RULES,
    quotas.RULES,
    tenant_usage.RULES,
    usage_audit_log.RULES,
    migrations.RULES,
    extensions.RULES,
    external_events.RULES,
    networks.RULES,
    legacy_security_groups.RULES,
    images.RULES,
)


def list_rules() -> list[policy.RuleDefault]:
    """Return all rules: the roles first, then by resource."""
    return [rule for table in _TABLES for rule in table]
