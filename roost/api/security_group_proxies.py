"""Security groups in the words of Compute before 2.36, when it stood before the network service.

Whoever keeps them, the answers are the same: a rule is one that lets something in, and what cannot
be done because of what is there is 400.
"""

import contextlib
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final

from roost import exception
from roost.api import paging
from roost.api.call import Answer, Call
from roost.api.local_networks import scope
from roost.api.parts import Parts
from roost.api.server_query import all_projects
from roost.api.validation import is_uuid
from roost.api.views import security_group_proxies as views
from roost.security_groups import INGRESS, Rule, checked

_ANY: Final = -1
_EVERYWHERE: Final = "0.0.0.0/0"


class OsSecurityGroups:
    """Handlers of ``/os-security-groups``."""

    def __init__(self, parts: Parts) -> None:
        self._groups = parts.networking.groups
        self._most = parts.options.max_limit

    def list_all(self, call: Call) -> Answer:
        everybody = all_projects(call) and scope(call) is None
        project = None if everybody else call.project_id
        found = self._groups.list_all(call, project)[call.query.number("offset") or 0 :]
        page = found[: paging.limit(call, most=self._most)]
        return Answer({"security_groups": [views.full(one) for one in page]})

    def show(self, call: Call) -> Answer:
        group = self._groups.get(call, _id(call, "security_group_id"))
        return Answer({"security_group": views.full(group)})

    def create(self, call: Call) -> Answer:
        project = call.project_id
        with _refusals():
            made = self._groups.create(call, project, **_words(call))
        return Answer({"security_group": views.full(made)})

    def update(self, call: Call) -> Answer:
        with _refusals():
            changed = self._groups.change(call, _id(call, "security_group_id"), _words(call))
        return Answer({"security_group": views.full(changed)})

    def delete(self, call: Call) -> Answer:
        with _refusals():
            self._groups.delete(call, _id(call, "security_group_id"))
        return Answer()


class OsSecurityGroupRules:
    """Handlers of ``/os-security-group-rules``."""

    def __init__(self, parts: Parts) -> None:
        self._groups = parts.networking.groups

    def create(self, call: Call) -> Answer:
        rule = checked(_rule(call.body["security_group_rule"]))
        group = self._groups.get(call, rule.group_id)
        with _refusals():
            made = self._groups.add_rule(call, rule)
        return Answer({"security_group_rule": views.rule(made, group)})

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


def _words(call: Call) -> dict[str, str]:
    asked = call.body["security_group"]
    return {"name": asked["name"], "description": asked["description"] or ""}


def _rule(asked: Mapping[str, Any]) -> Rule:
    """Return the rule that is asked for; who lets a group in may leave the rest out.

    :raises roost.exception.Invalid: when too little is said
    """
    protocol, low, high = (asked.get(name) for name in ("ip_protocol", "from_port", "to_port"))
    source = asked.get("group_id")
    if not source and None in (protocol, low, high):
        raise exception.Invalid("Not enough parameters to build a valid rule.")
    prefix = None if source else asked.get("cidr") or _EVERYWHERE
    return Rule(
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
    """Return a port, or a type or code of ICMP; -1 is any of these."""
    return None if value is None or int(value) == _ANY else int(value)
