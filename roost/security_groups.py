"""Security groups and their rules: values, the validation of rules, and the filters for hosts.

The names are those of the Network API; Compute's own, of microversions before 2.36, are views.
Hosts receive a ``Filtering`` for each network.
"""

import dataclasses
import ipaddress
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

from roost import exception

DEFAULT: Final = "default"  # the group that each project has, for servers that name none
INGRESS: Final = "ingress"
EGRESS: Final = "egress"
ETHERTYPES: Final = {"IPv4": 4, "IPv6": 6}
_NAMESPACE: Final = uuid.UUID("b2f7a1c4-3d5e-5a68-8f09-6c1d2e3f4a5b")
_WITH_PORTS: Final = ("dccp", "sctp", "tcp", "udp", "udplite")
_ICMP: Final = ("icmp", "icmpv6", "ipv6-icmp")
_WITHOUT_PORTS: Final = ("ah", "egp", "esp", "gre", "igmp", "ipip", "ospf", "pgm", "rsvp", "vrrp")
# Numbers of protocols with further fields in rules (IANA, Assigned Internet Protocol Numbers).
_NUMBERS: Final = {"1": "icmp", "6": "tcp", "17": "udp", "33": "dccp", "58": "ipv6-icmp"} | {
    "132": "sctp",
    "136": "udplite",
}
_MAX_BYTE: Final = 255
_MAX_PORT: Final = 65535


@dataclasses.dataclass(frozen=True, kw_only=True)
class SecurityGroupRule:
    """Traffic that a group allows; None means any.

    ``port_min`` and ``port_max`` are type and code if the protocol is ICMP. With a remote group,
    ``remote_group_name`` is its name, if it was looked up.
    """

    id: str
    group_id: str
    direction: str
    ethertype: str
    protocol: str | None = None
    port_min: int | None = None
    port_max: int | None = None
    remote_prefix: str | None = None
    remote_group_id: str | None = None
    remote_group_name: str | None = None
    description: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Group:
    """A security group of a project, with its rules."""

    id: str
    project_id: str
    name: str
    description: str
    rules: tuple[SecurityGroupRule, ...] = ()

    def with_words(self, changes: Mapping[str, str]) -> Self:
        """Return the same group with another ``name`` or ``description``."""
        return dataclasses.replace(self, **dict[str, Any](changes))


def new_group(project_id: str, *, name: str, description: str) -> Group:
    """Return a group that allows all egress and no ingress."""
    group_id = str(uuid.uuid4())
    return Group(
        id=group_id,
        project_id=project_id,
        name=name,
        description=description,
        rules=_rules(group_id, (EGRESS,)),
    )


def default_group(project_id: str) -> Group:
    """Return the initial default group: it allows ingress from its own members.

    Its id is derived from the project, so all daemons make the same one.
    """
    group_id = str(uuid.uuid5(_NAMESPACE, project_id))
    return Group(
        id=group_id,
        project_id=project_id,
        name=DEFAULT,
        description="Default security group",
        rules=_rules(group_id, (EGRESS, INGRESS)),
    )


def pick(groups: Sequence[Group], name: str) -> Group:
    """Return the group with this id, or else of this name.

    :raises roost.exception.NotFound: when there is none
    :raises roost.exception.Conflict: for a name of several groups
    """
    found = [one for one in groups if one.id == name] or [one for one in groups if one.name == name]
    if not found:
        raise exception.NotFound(f"Security group {name} not found.")
    if len(found) > 1:
        raise exception.Conflict(
            f"Multiple security groups found matching '{name}'. Use an ID to be more specific."
        )
    return found[0]


def pick_all(groups: Sequence[Group], names: Sequence[str]) -> list[Group]:
    """Return the groups of a new server, without duplicates.

    :raises roost.exception.Invalid: for a group that does not exist
    :raises roost.exception.Conflict: as :func:`pick` does
    """
    try:
        found = [pick(groups, name) for name in names]
    except exception.NotFound as error:
        raise exception.Invalid(error.message) from error
    return list({group.id: group for group in found}.values())


def checked(rule: SecurityGroupRule) -> SecurityGroupRule:
    """Return a rule as it is stored: its range of addresses as it was given.

    :raises roost.exception.Invalid: when the rule is invalid
    """
    if rule.remote_prefix is not None and rule.remote_group_id is not None:
        raise exception.Invalid("Only one of a remote prefix and a remote group may be given.")
    protocol = rule.protocol.lower() if rule.protocol else None
    rule = dataclasses.replace(rule, protocol=None if protocol == "any" else protocol)
    _check_protocol(rule)
    _network(rule)
    return rule


def same(one: SecurityGroupRule, other: SecurityGroupRule) -> bool:
    """Return whether two rules allow the same traffic, whatever their ids."""
    return _meaning(one) == _meaning(other)


def _rules(group_id: str, directions: Sequence[str]) -> tuple[SecurityGroupRule, ...]:
    """Return the initial rules of a group; ingress is allowed from its own members only."""
    rules = [
        SecurityGroupRule(
            id=str(uuid.uuid5(uuid.UUID(group_id), f"{direction} {ethertype}")),
            group_id=group_id,
            direction=direction,
            ethertype=ethertype,
            remote_group_id=group_id if direction == INGRESS else None,
        )
        for direction in directions
        for ethertype in ETHERTYPES
    ]
    return tuple(sorted(rules, key=lambda rule: rule.id))


def _meaning(rule: SecurityGroupRule) -> Sequence[object]:
    ends = (rule.port_min, rule.port_max, _network(rule), rule.remote_group_id)
    return (rule.group_id, rule.direction, rule.ethertype, rule.protocol, *ends)


def _check_protocol(rule: SecurityGroupRule) -> None:
    given = rule.protocol or ""
    known = _NUMBERS.get(given, given)
    if known in _WITH_PORTS:
        _check_ports(rule)
    elif known in _ICMP:
        _check_icmp(rule)
    elif given and known not in _WITHOUT_PORTS and not _is_number(known):
        raise exception.Invalid(f"Security group rule protocol {given} not supported.")
    elif (rule.port_min, rule.port_max) != (None, None):
        raise exception.Invalid("Only rules with a protocol that has ports may have ports.")


def _is_number(protocol: str) -> bool:
    """Return whether this is an IP protocol number."""
    return re.fullmatch("[0-9]{1,3}", protocol) is not None and int(protocol) <= _MAX_BYTE


def _check_ports(rule: SecurityGroupRule) -> None:
    low, high = rule.port_min, rule.port_max
    if low is None and high is None:
        return
    if low is None or high is None or not 1 <= low <= high <= _MAX_PORT:
        raise exception.Invalid(
            f"Invalid port range {low}:{high}: they are from 1 to {_MAX_PORT}, the lower one first."
        )


def _check_icmp(rule: SecurityGroupRule) -> None:
    kind, code = rule.port_min, rule.port_max
    if kind is None and code is not None:
        raise exception.Invalid(f"ICMP code (port-range-max) {code} is without a type.")
    for value in (kind, code):
        if value is not None and not 0 <= value <= _MAX_BYTE:
            raise exception.Invalid(f"Invalid ICMP type or code {value}: they are from 0 to 255.")


def _network(rule: SecurityGroupRule) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Return the range of addresses of a rule."""
    if rule.remote_prefix is None:
        return None
    try:
        network = ipaddress.ip_network(rule.remote_prefix, strict=False)
    except ValueError as error:
        raise exception.Invalid(f"Invalid CIDR {rule.remote_prefix}: {error}") from error
    if network.version != ETHERTYPES[rule.ethertype]:
        raise exception.Invalid(f"{rule.remote_prefix} is no range of {rule.ethertype}.")
    return network


DRIVERS: Final = ("bridge",)  # values of [network] driver with filters on hosts


@dataclasses.dataclass(frozen=True)
class Filtering:
    """The traffic allowed at the ports of one network on one host.

    :ivar ports: the ids of the groups that each port is in. A port that is not here is in none:
        nothing passes there
    :ivar rules: of each of these groups
    :ivar members: the addresses, in this network, of the members of remote groups
    """

    ports: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    rules: Mapping[str, Sequence[SecurityGroupRule]] = dataclasses.field(default_factory=dict)
    members: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Read the result of :meth:`as_dict`."""
        rules = {
            name: [SecurityGroupRule(**rule) for rule in found]
            for name, found in values["rules"].items()
        }
        return cls(values["ports"], rules, values["members"])

    def as_dict(self) -> dict[str, Any]:
        """Return it as a JSON-compatible dict."""
        return dataclasses.asdict(self)

    def of_port(self, port_id: str, direction: str) -> list[SecurityGroupRule]:
        """Return the rules of all groups of a port; only traffic of a rule may pass."""
        groups = self.ports.get(port_id, ())
        found = [rule for group_id in groups for rule in self.rules.get(group_id, ())]
        return [rule for rule in found if rule.direction == direction]


@dataclasses.dataclass(frozen=True)
class GroupMember:
    """An address of a server that is not deleted, and the names of the server's groups."""

    port_id: str
    project_id: str
    network_id: str
    ip: str
    host: str | None
    groups: Sequence[str]


def on_host(
    members: Sequence[GroupMember], known: Mapping[str, Sequence[Group]], *, host: str
) -> Filtering:
    """Return the filters for those of these ports that are on a host, all of one network.

    :param known: the groups of each project; a missing default group is the initial one
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
    """Return a group as a JSON-compatible dict."""
    return dataclasses.asdict(group)


def read_group(values: Mapping[str, Any]) -> Group:
    """Read the result of :func:`group_as_dict`."""
    rules = tuple(SecurityGroupRule(**rule) for rule in values["rules"])
    return Group(**{**values, "rules": rules})
