"""What security groups let pass, as hosts are told it: values that messages carry."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

from roost.security_groups import DEFAULT, Group, Rule, default_group

DRIVERS: Final = ("bridge",)  # what [network] driver says where hosts filter


@dataclasses.dataclass(frozen=True)
class Filtering:
    """What may pass at the ports of one network on one host.

    :ivar ports: the ids of the groups that each port is in. A port that is not here is in none:
        nothing passes there
    :ivar rules: of each of these groups
    :ivar members: the addresses, in this network, of the members of groups that rules name
    """

    ports: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    rules: Mapping[str, Sequence[Rule]] = dataclasses.field(default_factory=dict)
    members: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Read what :meth:`as_dict` has made."""
        rules = {name: [Rule(**rule) for rule in found] for name, found in values["rules"].items()}
        return cls(values["ports"], rules, values["members"])

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can have it."""
        return dataclasses.asdict(self)

    def of_port(self, port_id: str, direction: str) -> list[Rule]:
        """Return the rules of all groups of a port; each says what may pass, and nothing else."""
        groups = self.ports.get(port_id, ())
        found = [rule for group_id in groups for rule in self.rules.get(group_id, ())]
        return [rule for rule in found if rule.direction == direction]


@dataclasses.dataclass(frozen=True)
class Member:
    """An address of a server that lives, and the names of the groups that the server is in."""

    port_id: str
    project_id: str
    network_id: str
    ip: str
    host: str | None
    groups: Sequence[str]


def on_host(
    members: Sequence[Member], known: Mapping[str, Sequence[Group]], *, host: str
) -> Filtering:
    """Return what may pass at the ports on a host that are among these, all of one network.

    :param known: the groups of each project. Who has no default group has it as it begins
    """
    ids = {
        project_id: {DEFAULT: default_group(project_id)}
        | {group.name: group for group in known.get(project_id, ())}
        for project_id in {member.project_id for member in members}
    }
    in_groups = {
        member.port_id: [
            ids[member.project_id][name] for name in member.groups if name in ids[member.project_id]
        ]
        for member in members
    }
    here = [member.port_id for member in members if member.host == host]
    rules = {group.id: list(group.rules) for port_id in here for group in in_groups[port_id]}
    remote = {rule.remote_group_id for found in rules.values() for rule in found}
    found: dict[str, list[str]] = {name: [] for name in sorted(filter(None, remote))}
    for member in members:
        for group in in_groups[member.port_id]:
            if group.id in found:
                found[group.id].append(member.ip)
    ports = {port_id: [group.id for group in in_groups[port_id]] for port_id in here}
    return Filtering(ports, rules, {name: sorted(ips) for name, ips in found.items()})


def group_as_dict(group: Group) -> dict[str, Any]:
    """Return a group as JSON can have it."""
    return dataclasses.asdict(group)


def read_group(values: Mapping[str, Any]) -> Group:
    """Read what :func:`group_as_dict` has made."""
    rules = tuple(Rule(**rule) for rule in values["rules"])
    return Group(**{**values, "rules": rules})
