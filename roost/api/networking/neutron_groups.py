"""Security groups of Neutron, read and changed with the user's token.

A server is in the groups of its ports, so adding it to a group changes all its filtered ports.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.api.request import Call
from roost.external.neutron import Changed, Neutron, translated_errors
from roost.objects import Instance
from roost.security_groups import DEFAULT, Group, SecurityGroupRule, pick, pick_all

_PORT_SECURITY: Final = "port-security"  # the extension that can disable port security
_TRIES: Final = 5  # to change a port with concurrent changes
_UNFILTERED: Final = (
    "Network requires port_security_enabled and subnet associated in order to apply security"
    " groups."
)


class NeutronGroups:
    """Security groups in Neutron; stores nothing itself."""

    def __init__(self, neutron: Neutron) -> None:
        self._neutron = neutron

    def list_all(self, call: Call, project_id: str | None) -> list[Group]:
        return _list(self._of_user(call), project_id)

    def get(self, call: Call, group_id: str) -> Group:
        network = self._of_user(call)
        with translated_errors():
            found = network.get_security_group(group_id)
        call.may_touch(found.project_id, name=f"Security group {group_id}")
        return _with_names(network, _group(found))

    def tell(self, call: Call, project_id: str) -> None:
        """Do nothing: Neutron notifies its agents."""

    def create(self, call: Call, project_id: str, *, name: str, description: str) -> Group:
        with translated_errors():
            made = self._of_user(call).create_security_group(
                name=name, description=description, project_id=project_id
            )
        return _group(made)

    def change(self, call: Call, group_id: str, changes: Mapping[str, str]) -> Group:
        group = self.get(call, group_id)
        with translated_errors():
            self._of_user(call).update_security_group(group_id, **changes)
        return group.with_words(changes)

    def delete(self, call: Call, group_id: str) -> None:
        self.get(call, group_id)
        with translated_errors():
            self._of_user(call).delete_security_group(group_id, ignore_missing=True)

    def get_rule(self, call: Call, rule_id: str) -> SecurityGroupRule:
        with translated_errors():
            found = self._of_user(call).get_security_group_rule(rule_id)
        call.may_touch(found.project_id, name=f"Security group rule {rule_id}")
        return _rule(found.to_dict(original_names=True))

    def add_rule(self, call: Call, rule: SecurityGroupRule) -> SecurityGroupRule:
        self.get(call, rule.group_id)
        remote = self.get(call, rule.remote_group_id) if rule.remote_group_id else None
        with translated_errors():
            made = self._of_user(call).create_security_group_rule(**_asked(rule))
        name = remote.name if remote else None
        return dataclasses.replace(rule, id=made.id, remote_group_name=name)

    def delete_rule(self, call: Call, rule_id: str) -> None:
        self.get_rule(call, rule_id)
        with translated_errors():
            self._of_user(call).delete_security_group_rule(rule_id, ignore_missing=True)

    def named(self, call: Call, names: Sequence[str]) -> list[Group]:
        if all(name == DEFAULT for name in names):
            return []
        return pick_all(_list(self._of_user(call), call.project_id), names)

    def of_server(self, call: Call, instance: Instance) -> list[Group]:
        network = self._of_user(call)
        found = _by_id(network, _groups_of(_ports(network, instance)))
        return [_with_names(network, group) for group in found]

    def join(self, call: Call, instance: Instance, name: str) -> None:
        """Add all filtered ports of a server to a group.

        :raises roost.exception.Invalid: when it has none
        """
        network = self._of_user(call)
        group = pick(_list(network, instance.project_id), name)
        ports = [port for port in _ports(network, instance) if port.fixed_ips]
        ports = [port for port in ports if _is_secured(network, port)]
        if not ports:
            raise exception.Invalid(_UNFILTERED)
        for port in ports:
            _swap(network, port, lambda before: {*before, group.id})

    def leave(self, call: Call, instance: Instance, name: str) -> None:
        network = self._of_user(call)
        ports = _ports(network, instance)
        try:
            group = pick(_by_id(network, _groups_of(ports)), name)
        except exception.NotFound as error:
            raise exception.NotFound(
                f"Security group {name} not associated with the instance {instance.uuid}"
            ) from error
        for port in ports:
            _swap(network, port, lambda before: before - {group.id})

    def _of_user(self, call: Call) -> Any:
        return self._neutron.of_user(call.context)


def check_filtered(neutron: Any, network: Any) -> None:
    """Make sure that security groups can be applied to the ports of a network.

    :raises roost.exception.Invalid: when they cannot
    """
    if not _is_secured(neutron, network):
        raise exception.Invalid(_UNFILTERED)


def _is_secured(neutron: Any, thing: Any) -> bool:
    """Return whether a network or port has port security; without the extension, all have.

    openstacksdk reports none if Neutron reports nothing.
    """
    if thing.is_port_security_enabled:
        return True
    with translated_errors():
        return all(one.alias != _PORT_SECURITY for one in neutron.extensions())


def _list(network: Any, project_id: str | None) -> list[Group]:
    query = {} if project_id is None else {"project_id": project_id}
    with translated_errors():
        groups = [_group(one) for one in network.security_groups(**query)]
    names = {group.id: group.name for group in groups}
    return [_named(group, names) for group in groups]


def _by_id(network: Any, ids: set[str]) -> list[Group]:
    if not ids:
        return []
    with translated_errors():
        return [_group(one) for one in network.security_groups(id=sorted(ids))]


def _ports(network: Any, instance: Instance) -> list[Any]:
    with translated_errors():
        return list(network.ports(device_id=instance.uuid))


def _groups_of(ports: Sequence[Any]) -> set[str]:
    return {one for port in ports for one in port.security_group_ids or []}


def _swap(network: Any, port: Any, change: Callable[[set[str]], set[str]]) -> None:
    """Change the groups of a port; retry after a concurrent change.

    :raises Changed: when all ``_TRIES`` failed
    """
    for tries_left in reversed(range(_TRIES)):
        before = set(port.security_group_ids or [])
        if change(before) == before:
            return
        try:
            with translated_errors():
                network.update_port(
                    port.id,
                    security_groups=sorted(change(before)),
                    if_revision=port.revision_number,
                )
        except Changed:
            if not tries_left:
                raise
            with translated_errors():
                port = network.get_port(port.id)
        else:
            return


def _with_names(network: Any, group: Group) -> Group:
    """Return a group whose rules have the names of their remote groups."""
    ids = {rule.remote_group_id for rule in group.rules if rule.remote_group_id}
    names = {group.id: group.name}
    names |= {one.id: one.name for one in _by_id(network, ids - set(names))}
    return _named(group, names)


def _named(group: Group, names: Mapping[str, str]) -> Group:
    rules = tuple(
        dataclasses.replace(rule, remote_group_name=names.get(rule.remote_group_id or ""))
        for rule in group.rules
    )
    return dataclasses.replace(group, rules=rules)


def _group(found: Any) -> Group:
    return Group(
        id=found.id,
        project_id=found.project_id,
        name=found.name,
        description=found.description or "",
        rules=tuple(_rule(rule) for rule in found.security_group_rules or []),
    )


def _rule(found: Mapping[str, Any]) -> SecurityGroupRule:
    return SecurityGroupRule(
        id=found["id"],
        group_id=found["security_group_id"],
        direction=found["direction"],
        ethertype=found["ethertype"],
        protocol=found["protocol"],
        port_min=found["port_range_min"],
        port_max=found["port_range_max"],
        remote_prefix=found["remote_ip_prefix"],
        remote_group_id=found["remote_group_id"],
        description=found.get("description") or "",
    )


def _asked(rule: SecurityGroupRule) -> dict[str, Any]:
    """Return a rule in Neutron's format; Neutron chooses its id."""
    asked = {
        "security_group_id": rule.group_id,
        "direction": rule.direction,
        "ether_type": rule.ethertype,
        "protocol": rule.protocol,
        "port_range_min": rule.port_min,
        "port_range_max": rule.port_max,
        "remote_ip_prefix": rule.remote_prefix,
        "remote_group_id": rule.remote_group_id,
    }
    return {name: value for name, value in asked.items() if value is not None}
