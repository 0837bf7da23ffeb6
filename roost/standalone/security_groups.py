"""The security groups of the standalone network API."""

import uuid
from collections.abc import Mapping
from typing import Any, Final

from roost.api import pagination
from roost.api.dependencies import Dependencies
from roost.api.policy import MEMBER, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import NAME, PAGE, TEXT, UUID, always, of, query, wrapped
from roost.security_groups import EGRESS, ETHERTYPES, INGRESS, Group, SecurityGroupRule, checked
from roost.standalone.networks import changes_of, owner

_FIELDS: Final = {"fields": TEXT, "sort_key": TEXT, "sort_dir": TEXT}
_PROJECT: Final = {"project_id": TEXT, "tenant_id": TEXT}
_YES: Final = {"type": "boolean", "enum": [True]}
_NUMBER: Final = {"type": ["integer", "null"], "minimum": 0, "maximum": 65535}
_TEXTS: Final[dict[str, Any]] = {"name": NAME, "description": TEXT, "stateful": _YES}

LIST_QUERY: Final = always(
    query({**PAGE, **_FIELDS, **_PROJECT, **dict.fromkeys(("id", "name", "description"), TEXT)})
)
CREATE: Final = always(wrapped("security_group", of({**_TEXTS, **_PROJECT}, required=["name"])))
UPDATE: Final = always(wrapped("security_group", of(_TEXTS)))
RULES_QUERY: Final = always(
    query(
        {
            **PAGE,
            **_FIELDS,
            **_PROJECT,
            **dict.fromkeys(
                (
                    *("id", "security_group_id", "direction", "ethertype", "protocol"),
                    *("port_range_min", "port_range_max", "remote_ip_prefix", "remote_group_id"),
                    "description",
                ),
                TEXT,
            ),
        }
    )
)
CREATE_RULE: Final = always(
    wrapped(
        "security_group_rule",
        of(
            {
                "security_group_id": UUID,
                "direction": {"enum": [INGRESS, EGRESS]},
                "ethertype": {"enum": [*ETHERTYPES]},
                "protocol": {
                    "type": ["string", "integer", "null"],
                    "maxLength": 32,
                    "minimum": 0,
                    "maximum": 255,
                },
                "port_range_min": _NUMBER,
                "port_range_max": _NUMBER,
                "remote_ip_prefix": {"type": ["string", "null"], "maxLength": 64},
                "remote_group_id": {"anyOf": [UUID, {"type": "null"}]},
                "description": TEXT,
                **_PROJECT,
            },
            required=["security_group_id", "direction"],
        ),
    )
)


def full(group: Group) -> dict[str, Any]:
    """Return a group with its rules."""
    return {
        "id": group.id,
        "name": group.name,
        "description": group.description,
        "security_group_rules": [shown_rule(one, group.project_id) for one in group.rules],
        "stateful": True,
        "shared": False,
        "tenant_id": group.project_id,
        "project_id": group.project_id,
        "tags": [],
    }


def shown_rule(one: SecurityGroupRule, project_id: str) -> dict[str, Any]:
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


_GROUP_FILTERS: Final = ("id", "name", "description", "project_id", "tenant_id")
_RULE_FILTERS: Final = (
    *("id", "security_group_id", "direction", "ethertype", "protocol", "remote_group_id"),
    *("port_range_min", "port_range_max", "remote_ip_prefix", "description"),
    *("project_id", "tenant_id"),
)


class SecurityGroups:
    """Handlers of ``/network/v2.0/security-groups``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._groups = dependencies.networking.groups
        self._most = dependencies.options.max_limit

    def list_all(self, call: Call) -> Answer:
        shown = [full(one) for one in self._groups.list_all(call, call.visible_project)]
        return _page(call, "security_groups", shown, _GROUP_FILTERS, most=self._most)

    def show(self, call: Call) -> Answer:
        group = self._groups.get(call, call.params["security_group_id"])
        return Answer({"security_group": full(group)})

    def create(self, call: Call) -> Answer:
        asked = call.body["security_group"]
        named = {"name": asked.get("name", ""), "description": asked.get("description", "")}
        made = self._groups.create(call, owner(call, asked), **named)
        return Answer({"security_group": full(made)})

    def update(self, call: Call) -> Answer:
        changes = changes_of(call.body["security_group"])
        changed = self._groups.change(call, call.params["security_group_id"], changes)
        return Answer({"security_group": full(changed)})

    def delete(self, call: Call) -> Answer:
        self._groups.delete(call, call.params["security_group_id"])
        return Answer()


class SecurityGroupRules:
    """Handlers of ``/network/v2.0/security-group-rules``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._groups = dependencies.networking.groups
        self._most = dependencies.options.max_limit

    def list_all(self, call: Call) -> Answer:
        groups = self._groups.list_all(call, call.visible_project)
        shown = [shown_rule(rule, group.project_id) for group in groups for rule in group.rules]
        return _page(call, "security_group_rules", shown, _RULE_FILTERS, most=self._most)

    def show(self, call: Call) -> Answer:
        rule = self._groups.get_rule(call, call.params["security_group_rule_id"])
        group = self._groups.get(call, rule.group_id)
        return Answer({"security_group_rule": shown_rule(rule, group.project_id)})

    def create(self, call: Call) -> Answer:
        rule = checked(_rule(call.body["security_group_rule"]))
        group = self._groups.get(call, rule.group_id)
        made = self._groups.add_rule(call, rule)
        return Answer({"security_group_rule": shown_rule(made, group.project_id)})

    def delete(self, call: Call) -> Answer:
        self._groups.delete_rule(call, call.params["security_group_rule_id"])
        return Answer()


def _page(
    call: Call, name: str, shown: list[dict[str, Any]], filters: tuple[str, ...], *, most: int
) -> Answer:
    """Return a page of the resources that match the query, in order of their ids."""
    found = sorted((one for one in shown if _passes(call, one, filters)), key=lambda one: one["id"])
    limit, marker = pagination.limit(call, most=most), call.query.one("marker") or ""
    page = [one for one in found if one["id"] > marker][:limit]
    links = pagination.links(
        call, name, full=len(page) == limit, last=page[-1]["id"] if page else ""
    )
    return Answer({name: page, **links})


def _passes(call: Call, shown: Mapping[str, Any], filters: tuple[str, ...]) -> bool:
    return all(str(shown[name]) in call.query.all(name) for name in filters if name in call.query)


def _rule(asked: Mapping[str, Any]) -> SecurityGroupRule:
    protocol = asked.get("protocol")
    return SecurityGroupRule(
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


_GROUPS: Final = "/network/v2.0/security-groups"
_GROUP: Final = f"{_GROUPS}/{{security_group_id}}"
_RULES: Final = "/network/v2.0/security-group-rules"
_RULE: Final = f"{_RULES}/{{security_group_rule_id}}"

ROUTES: Final[tuple[Route, ...]] = (
    row(
        f"GET {_GROUPS}",
        (SecurityGroups, SecurityGroups.list_all),
        Rule("roost:security_groups:list", READER, "List security groups."),
        query=LIST_QUERY,
    ),
    row(
        f"POST {_GROUPS}",
        (SecurityGroups, SecurityGroups.create),
        Rule("roost:security_groups:create", MEMBER, "Create a security group."),
        body=CREATE,
        status=201,
    ),
    row(
        f"GET {_GROUP}",
        (SecurityGroups, SecurityGroups.show),
        Rule("roost:security_groups:show", READER, "Show a security group."),
    ),
    row(
        f"PUT {_GROUP}",
        (SecurityGroups, SecurityGroups.update),
        Rule(
            "roost:security_groups:update",
            MEMBER,
            "Change a security group's name and description.",
        ),
        body=UPDATE,
    ),
    row(
        f"DELETE {_GROUP}",
        (SecurityGroups, SecurityGroups.delete),
        Rule(
            "roost:security_groups:delete", MEMBER, "Delete a security group that no server is in."
        ),
        status=204,
    ),
    row(
        f"GET {_RULES}",
        (SecurityGroupRules, SecurityGroupRules.list_all),
        Rule("roost:security_group_rules:list", READER, "List the rules of security groups."),
        query=RULES_QUERY,
    ),
    row(
        f"POST {_RULES}",
        (SecurityGroupRules, SecurityGroupRules.create),
        Rule("roost:security_group_rules:create", MEMBER, "Add a rule to a security group."),
        body=CREATE_RULE,
        status=201,
    ),
    row(
        f"GET {_RULE}",
        (SecurityGroupRules, SecurityGroupRules.show),
        Rule("roost:security_group_rules:show", READER, "Show a rule of a security group."),
    ),
    row(
        f"DELETE {_RULE}",
        (SecurityGroupRules, SecurityGroupRules.delete),
        Rule("roost:security_group_rules:delete", MEMBER, "Delete a rule of a security group."),
        status=204,
    ),
)
