"""Security group proxies: security groups and their rules until 2.35, in Compute's format.

The answers are the same for all drivers: they show ingress rules only, and conflicts are 400.
"""

import contextlib
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final

from roost import exception
from roost.api import pagination
from roost.api.dependencies import Dependencies
from roost.api.policy import MEMBER, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.servers.lists import all_projects
from roost.api.validation import (
    NAME,
    OPTIONAL_TEXT,
    TEXT,
    UUID,
    WHOLE_NUMBER,
    always,
    is_uuid,
    number,
    of,
    query,
    wrapped,
)
from roost.security_groups import INGRESS, Group, SecurityGroupRule, checked

_FORMERLY = "os_compute_api:os-security-groups"


LIST_QUERY: Final = always(
    query({"all_tenants": TEXT, "limit": WHOLE_NUMBER, "offset": WHOLE_NUMBER})
)
# Names of groups may have blanks at both ends.
_NAME: Final = {**NAME, "pattern": r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"}
_GROUP: Final = of({"name": _NAME, "description": OPTIONAL_TEXT}, required=["name", "description"])
CREATE: Final = always(wrapped("security_group", _GROUP))
UPDATE: Final = always(wrapped("security_group", _GROUP))
_PORT: Final = {"anyOf": [number(-1, 65535), {"type": "null"}]}
CREATE_RULE: Final = always(
    wrapped(
        "security_group_rule",
        of(
            {
                "parent_group_id": UUID,
                "ip_protocol": {"enum": [None, "tcp", "udp", "icmp", "TCP", "UDP", "ICMP"]},
                "from_port": _PORT,
                "to_port": _PORT,
                "cidr": OPTIONAL_TEXT,
                "group_id": {"anyOf": [UUID, {"type": "null"}]},
            },
            required=["parent_group_id"],
        ),
    )
)


_ALL_PORTS: Final = (1, 65535)
_ANY: Final = -1
_ANY_ADDRESS: Final = {"IPv4": "0.0.0.0/0", "IPv6": "::/0"}


def full(group: Group) -> dict[str, Any]:
    """Return a group with its ingress rules."""
    return {
        "id": group.id,
        "name": group.name,
        "description": group.description,
        "tenant_id": group.project_id,
        "rules": [shown_rule(one, group) for one in group.rules if one.direction == INGRESS],
    }


def shown_rule(one: SecurityGroupRule, group: Group) -> dict[str, Any]:
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


def _source(one: SecurityGroupRule, group: Group) -> dict[str, Any]:
    if one.remote_group_id is not None:
        named = {"name": one.remote_group_name, "tenant_id": group.project_id}
        return {"group": named, "ip_range": {}}
    return {"group": {}, "ip_range": {"cidr": one.remote_prefix or _ANY_ADDRESS[one.ethertype]}}


def _ports(one: SecurityGroupRule) -> tuple[int | None, int | None]:
    """Return the ports of a rule, or the ICMP type and code; "all" as numbers, too."""
    if one.protocol is None:
        return None, None
    if one.port_min is None:
        return _ALL_PORTS if one.protocol in ("tcp", "udp") else (_ANY, _ANY)
    return one.port_min, _ANY if one.port_max is None else one.port_max


_EVERYWHERE: Final = "0.0.0.0/0"


class OsSecurityGroups:
    """Handlers of ``/os-security-groups``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._groups = dependencies.networking.groups
        self._most = dependencies.options.max_limit

    def list_all(self, call: Call) -> Answer:
        everybody = all_projects(call) and call.visible_project is None
        project = None if everybody else call.project_id
        found = self._groups.list_all(call, project)[call.query.number("offset") or 0 :]
        page = found[: pagination.limit(call, most=self._most)]
        return Answer({"security_groups": [full(one) for one in page]})

    def show(self, call: Call) -> Answer:
        group = self._groups.get(call, _id(call, "security_group_id"))
        return Answer({"security_group": full(group)})

    def create(self, call: Call) -> Answer:
        project = call.project_id
        with _refusals():
            made = self._groups.create(call, project, **_texts(call))
        return Answer({"security_group": full(made)})

    def update(self, call: Call) -> Answer:
        with _refusals():
            changed = self._groups.change(call, _id(call, "security_group_id"), _texts(call))
        return Answer({"security_group": full(changed)})

    def delete(self, call: Call) -> Answer:
        with _refusals():
            self._groups.delete(call, _id(call, "security_group_id"))
        return Answer()


class OsSecurityGroupRules:
    """Handlers of ``/os-security-group-rules``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._groups = dependencies.networking.groups

    def create(self, call: Call) -> Answer:
        rule = checked(_rule(call.body["security_group_rule"]))
        group = self._groups.get(call, rule.group_id)
        with _refusals():
            made = self._groups.add_rule(call, rule)
        return Answer({"security_group_rule": shown_rule(made, group)})

    def delete(self, call: Call) -> Answer:
        self._groups.delete_rule(call, _id(call, "security_group_rule_id"))
        return Answer()


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except exception.Conflict as error:
        raise exception.Invalid(error.message) from error


def _id(call: Call, name: str) -> str:
    value = call.params[name]
    if not is_uuid(value):
        raise exception.Invalid(f"{value} is no id: that is a uuid.")
    return value


def _texts(call: Call) -> dict[str, str]:
    asked = call.body["security_group"]
    return {"name": asked["name"], "description": asked["description"] or ""}


def _rule(asked: Mapping[str, Any]) -> SecurityGroupRule:
    """Return the requested rule; for a remote group the other fields are optional.

    :raises roost.exception.Invalid: when fields are missing
    """
    protocol, low, high = (asked.get(name) for name in ("ip_protocol", "from_port", "to_port"))
    source = asked.get("group_id")
    if not source and None in (protocol, low, high):
        raise exception.Invalid("Not enough parameters to build a valid rule.")
    prefix = None if source else asked.get("cidr") or _EVERYWHERE
    return SecurityGroupRule(
        id=str(uuid.uuid4()),
        group_id=asked["parent_group_id"],
        direction=INGRESS,
        ethertype="IPv6" if ":" in (prefix or "") else "IPv4",
        protocol=protocol,
        port_min=_number(low),
        port_max=_number(high),
        remote_prefix=prefix,
        remote_group_id=source,
    )


def _number(value: int | str | None) -> int | None:
    """Return a port, or a type or code of ICMP; -1 means any."""
    return None if value is None or int(value) == _ANY else int(value)


_LAST: Final = 35  # since 2.36 clients use the network service
_ALL: Final = "/v2.1/os-security-groups"
_ONE: Final = f"{_ALL}/{{security_group_id}}"
_RULES: Final = "/v2.1/os-security-group-rules"


def _row(operation: str, handler: tuple[type[Any], Any], policy: Rule, **more: Any) -> Route:
    return row(operation, handler, policy, until=_LAST, **more)


ROUTES: Final[tuple[Route, ...]] = (
    _row(
        f"GET {_ALL}",
        (OsSecurityGroups, OsSecurityGroups.list_all),
        Rule(
            "os_compute_api:os-security-groups:get",
            READER,
            "List security groups.",
            formerly=_FORMERLY,
        ),
        query=LIST_QUERY,
    ),
    _row(
        f"POST {_ALL}",
        (OsSecurityGroups, OsSecurityGroups.create),
        Rule(
            "os_compute_api:os-security-groups:create",
            MEMBER,
            "Make a security group.",
            formerly=_FORMERLY,
        ),
        body=CREATE,
    ),
    _row(
        f"GET {_ONE}",
        (OsSecurityGroups, OsSecurityGroups.show),
        Rule(
            "os_compute_api:os-security-groups:show",
            READER,
            "Show a security group.",
            formerly=_FORMERLY,
        ),
    ),
    _row(
        f"PUT {_ONE}",
        (OsSecurityGroups, OsSecurityGroups.update),
        Rule(
            "os_compute_api:os-security-groups:update",
            MEMBER,
            "Change a security group's name and description.",
            formerly=_FORMERLY,
        ),
        body=UPDATE,
    ),
    _row(
        f"DELETE {_ONE}",
        (OsSecurityGroups, OsSecurityGroups.delete),
        Rule(
            "os_compute_api:os-security-groups:delete",
            MEMBER,
            "Delete a security group.",
            formerly=_FORMERLY,
        ),
        status=202,
    ),
    _row(
        f"POST {_RULES}",
        (OsSecurityGroupRules, OsSecurityGroupRules.create),
        Rule(
            "os_compute_api:os-security-groups:rule:create",
            MEMBER,
            "Create a rule.",
            formerly=_FORMERLY,
        ),
        body=CREATE_RULE,
    ),
    _row(
        f"DELETE {_RULES}/{{security_group_rule_id}}",
        (OsSecurityGroupRules, OsSecurityGroupRules.delete),
        Rule(
            "os_compute_api:os-security-groups:rule:delete",
            MEMBER,
            "Delete a rule.",
            formerly=_FORMERLY,
        ),
        status=202,
    ),
)
