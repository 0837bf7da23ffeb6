"""Security groups as Compute's JSON before 2.36; those of a server are always told so."""

from typing import Any, Final

from roost.security_groups import INGRESS, Group, Rule

_ALL_PORTS: Final = (1, 65535)
_ANY: Final = -1
_EVERYWHERE: Final = {"IPv4": "0.0.0.0/0", "IPv6": "::/0"}


def full(group: Group) -> dict[str, Any]:
    """Return a group; of rules that let something out there is no word."""
    return {
        "id": group.id,
        "name": group.name,
        "description": group.description,
        "tenant_id": group.project_id,
        "rules": [rule(one, group) for one in group.rules if one.direction == INGRESS],
    }


def rule(one: Rule, group: Group) -> dict[str, Any]:
    """Return a rule of a group."""
    low, high = _ports(one)
    return {
        "id": one.id,
        "parent_group_id": one.group_id,
        "ip_protocol": one.protocol,
        "from_port": low,
        "to_port": high,
        **_source(one, group),
    }


def _source(one: Rule, group: Group) -> dict[str, Any]:
    if one.remote_group_id is not None:
        named = {"name": one.remote_group_name, "tenant_id": group.project_id}
        return {"group": named, "ip_range": {}}
    return {"group": {}, "ip_range": {"cidr": one.remote_prefix or _EVERYWHERE[one.ethertype]}}


def _ports(one: Rule) -> tuple[int | None, int | None]:
    """Return what the rule says of ports, or types and codes; all of them as numbers, too."""
    if one.protocol is None:
        return None, None
    if one.port_min is None:
        return _ALL_PORTS if one.protocol in ("tcp", "udp") else (_ANY, _ANY)
    return one.port_min, _ANY if one.port_max is None else one.port_max
