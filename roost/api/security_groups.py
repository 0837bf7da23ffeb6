"""The security groups of the network API, which stands in for Neutron's."""

import uuid
from collections.abc import Mapping
from typing import Any, Final

from roost.api import over_quota, paging
from roost.api.call import Answer, Call
from roost.api.local_networks import scope
from roost.api.networks import owner, words
from roost.api.parts import Parts
from roost.api.views import security_groups as views
from roost.security_groups import ETHERTYPES, Rule, checked

_GROUP_FILTERS: Final = ("id", "name", "description", "project_id", "tenant_id")
_RULE_FILTERS: Final = (
    *("id", "security_group_id", "direction", "ethertype", "protocol", "remote_group_id"),
    *("port_range_min", "port_range_max", "remote_ip_prefix", "description"),
    *("project_id", "tenant_id"),
)


class SecurityGroups:
    """Handlers of ``/network/v2.0/security-groups``."""

    def __init__(self, parts: Parts) -> None:
        self._groups = parts.networking.groups
        self._most = parts.options.max_limit

    def list_all(self, call: Call) -> Answer:
        shown = [views.full(one) for one in self._groups.list_all(call, scope(call))]
        return _page(call, "security_groups", shown, _GROUP_FILTERS, most=self._most)

    def show(self, call: Call) -> Answer:
        group = self._groups.get(call, call.params["security_group_id"])
        return Answer({"security_group": views.full(group)})

    def create(self, call: Call) -> Answer:
        asked = call.body["security_group"]
        named = {"name": asked.get("name", ""), "description": asked.get("description", "")}
        with over_quota.of_network():
            made = self._groups.create(call, owner(call, asked), **named)
        return Answer({"security_group": views.full(made)})

    def update(self, call: Call) -> Answer:
        changes = words(call.body["security_group"])
        changed = self._groups.change(call, call.params["security_group_id"], changes)
        return Answer({"security_group": views.full(changed)})

    def delete(self, call: Call) -> Answer:
        self._groups.delete(call, call.params["security_group_id"])
        return Answer()


class SecurityGroupRules:
    """Handlers of ``/network/v2.0/security-group-rules``."""

    def __init__(self, parts: Parts) -> None:
        self._groups = parts.networking.groups
        self._most = parts.options.max_limit

    def list_all(self, call: Call) -> Answer:
        groups = self._groups.list_all(call, scope(call))
        shown = [views.rule(rule, group.project_id) for group in groups for rule in group.rules]
        return _page(call, "security_group_rules", shown, _RULE_FILTERS, most=self._most)

    def show(self, call: Call) -> Answer:
        rule = self._groups.get_rule(call, call.params["security_group_rule_id"])
        group = self._groups.get(call, rule.group_id)
        return Answer({"security_group_rule": views.rule(rule, group.project_id)})

    def create(self, call: Call) -> Answer:
        rule = checked(_rule(call.body["security_group_rule"]))
        group = self._groups.get(call, rule.group_id)
        with over_quota.of_network():
            made = self._groups.add_rule(call, rule)
        return Answer({"security_group_rule": views.rule(made, group.project_id)})

    def delete(self, call: Call) -> Answer:
        self._groups.delete_rule(call, call.params["security_group_rule_id"])
        return Answer()


def _page(
    call: Call, name: str, shown: list[dict[str, Any]], filters: tuple[str, ...], *, most: int
) -> Answer:
    """Answer with those that the query asks for, in order of their ids as pages are."""
    found = sorted((one for one in shown if _passes(call, one, filters)), key=lambda one: one["id"])
    limit, marker = paging.limit(call, most=most), call.query.one("marker") or ""
    page = [one for one in found if one["id"] > marker][:limit]
    links = paging.links(call, name, full=len(page) == limit, last=page[-1]["id"] if page else "")
    return Answer({name: page, **links})


def _passes(call: Call, shown: Mapping[str, Any], filters: tuple[str, ...]) -> bool:
    return all(str(shown[name]) in call.query.all(name) for name in filters if name in call.query)


def _rule(asked: Mapping[str, Any]) -> Rule:
    protocol = asked.get("protocol")
    return Rule(
        id=str(uuid.uuid4()),
        group_id=asked["security_group_id"],
        direction=asked["direction"],
        ethertype=asked.get("ethertype", next(iter(ETHERTYPES))),
        protocol=None if protocol is None else str(protocol),
        port_min=asked.get("port_range_min"),
        port_max=asked.get("port_range_max"),
        remote_prefix=asked.get("remote_ip_prefix"),
        remote_group_id=asked.get("remote_group_id"),
        description=asked.get("description", ""),
    )
