"""Security groups as JSON, in the shapes of Network v2.0."""

from typing import Any

from roost.security_groups import Group, Rule


def full(group: Group) -> dict[str, Any]:
    """Return a group with its rules."""
    return {
        "id": group.id,
        "name": group.name,
        "description": group.description,
        "security_group_rules": [rule(one, group.project_id) for one in group.rules],
        "stateful": True,
        "shared": False,
        "tenant_id": group.project_id,
        "project_id": group.project_id,
        "tags": [],
    }


def rule(one: Rule, project_id: str) -> dict[str, Any]:
    """Return a rule of a project's group."""
    return {
        "id": one.id,
        "security_group_id": one.group_id,
        "direction": one.direction,
        "ethertype": one.ethertype,
        "protocol": one.protocol,
        "port_range_min": one.port_min,
        "port_range_max": one.port_max,
        "remote_ip_prefix": one.remote_prefix,
        "remote_group_id": one.remote_group_id,
        "remote_address_group_id": None,
        "description": one.description,
        "tenant_id": project_id,
        "project_id": project_id,
        "tags": [],
    }
