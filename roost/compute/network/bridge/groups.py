"""What security groups let pass at the ports of a network, as nftables read it.

A table of the family ``ip`` for each network. What crosses its bridge comes there because the
bridge says so of itself (``nf_call_iptables``), and only with that do connections have a state:
kernels may know none of the family ``bridge``. Each network has a zone of connections of its own,
so two of one range do not meet.

A packet is judged by how its connection began: an answer passes as the question did, and a rule
that is taken away ends what it let pass. What belongs to no one connection, broadcasts that is, is
judged as it is, in the family ``bridge``, where it is known to whom it goes.

The network's own 169.254.169.254, which nobody else can send as, is always let pass.
"""

import dataclasses
import ipaddress
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from roost.compute.network.bridge.ports import Port
from roost.compute.network.bridge.segment import METADATA, Segment
from roost.security_groups import EGRESS, ETHERTYPES, INGRESS, Rule

_IPV4: Final = 4
# Numbers of IP's protocols (IANA): nft knows few of the names.
_NUMBERS: Final = {
    "icmp": 1, "igmp": 2, "ipip": 4, "tcp": 6, "egp": 8, "udp": 17, "dccp": 33, "rsvp": 46,
    "gre": 47, "esp": 50, "ah": 51, "icmpv6": 58, "ipv6-icmp": 58, "ospf": 89, "vrrp": 112,
    "pgm": 113, "sctp": 132, "udplite": 136,
}  # fmt: skip
_ICMP: Final = 1


@dataclasses.dataclass(frozen=True)
class Words:
    """By what nft knows the two ends of what is judged."""

    source: str
    destination: str
    protocol: str
    port: str
    icmp: str


CONNECTION: Final = Words(
    source="ct original ip saddr",
    destination="ct original ip daddr",
    protocol="ct original protocol",
    port="ct original proto-dst",
    icmp="ct original proto-dst",  # type and code of what began it, a byte each
)
FRAME: Final = Words(
    source="ip saddr",
    destination="ip daddr",
    protocol="ip protocol",
    port="th dport",
    icmp="@th,0,16",
)


def table(segment: Segment, *, zone: int) -> str:
    """Return the table of a network's connections, to be read when it is not there.

    :param zone: that no other network of the host has
    """
    chains = [
        _chain("zone", _hooked("prerouting", -300), f"{_of(segment)} ct zone set {zone}"),
        *_sets(segment),
        *(text for port in segment.ports for text in _judging(segment, port)),
        _passing(segment),
    ]
    body = textwrap.indent("".join(chains), "  ")
    name = segment.names.table
    return f"table ip {name} {{\n{body}}}\n"


def broadcasts(segment: Segment) -> list[str]:
    """Return sets and chains, for the family ``bridge``, that judge what goes to many."""
    judging = [
        _chain(
            f"to_{port.tap}",
            "ether type arp accept",
            "ether type != ip drop",
            f"ip daddr {port.ip} accept",  # judged with its connection
            f"ip saddr {METADATA} accept",
            *(f"{line} accept" for line in _lines(segment, port, INGRESS, FRAME)),
            "drop",
        )
        for port in segment.ports
    ]
    whom = ", ".join(f'"{port.tap}" : goto to_{port.tap}' for port in segment.ports)
    return [*_sets(segment), *judging, _chain("to_guests", _hooked("forward", -200),
                                             f"oifname vmap {{ {whom} }}")]  # fmt: skip


def _judging(segment: Segment, port: Port) -> Iterator[str]:
    allowed = _lines(segment, port, EGRESS, CONNECTION)
    yield _chain(f"from_{port.tap}", *(f"{line} return" for line in allowed), "drop")
    allowed = _lines(segment, port, INGRESS, CONNECTION)
    yield _chain(f"to_{port.tap}", *(f"{line} accept" for line in allowed), "drop")


def _passing(segment: Segment) -> str:
    """Send what crosses the bridge to the chains of who began it, and of whom it is meant for."""
    began = ", ".join(f"{port.ip} : jump from_{port.tap}" for port in segment.ports)
    meant = ", ".join(f"{port.ip} : goto to_{port.tap}" for port in segment.ports)
    return _chain(
        "passing",
        _hooked("forward", 0),
        f'iifname != "{segment.names.bridge}" accept',
        "ct state invalid drop",
        "ct state related accept",  # an error of a connection that has passed
        f"ct original ip saddr {METADATA} accept",
        f"ct original ip daddr {METADATA} accept",
        f"ct original ip saddr vmap {{ {began} }}",
        f"ct original ip daddr vmap {{ {meant} }}",
    )


def _of(segment: Segment) -> str:
    return f'iifname "{segment.names.bridge}"'


def _hooked(hook: str, priority: int) -> str:
    return f"type filter hook {hook} priority {priority}; policy accept;"


def _chain(name: str, *lines: str) -> str:
    return f"chain {name} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _sets(segment: Segment) -> Iterator[str]:
    """Yield a set for the members of each group that rules name."""
    for group_id, addresses in sorted(segment.filtering.members.items()):
        held = f" elements = {{ {', '.join(addresses)} }};" if addresses else ""
        yield f"set {_members(group_id)} {{ type ipv4_addr;{held} }}\n"


def _members(group_id: str) -> str:
    return "members_" + group_id.replace("-", "_")


def _lines(segment: Segment, port: Port, direction: str, words: Words) -> list[str]:
    """Return what may pass in a direction, a line each; none of them twice."""
    rules = segment.filtering.of_port(port.id, direction)
    ours = [rule for rule in rules if ETHERTYPES[rule.ethertype] == _IPV4]
    return list(dict.fromkeys(_line(rule, words) for rule in ours))


def _line(rule: Rule, words: Words) -> str:
    far = words.source if rule.direction == INGRESS else words.destination
    parts = [*_protocol(rule, words)]
    if rule.remote_prefix is not None:
        parts.append(f"{far} {ipaddress.ip_network(rule.remote_prefix, strict=False)}")
    if rule.remote_group_id is not None:
        parts.append(f"{far} @{_members(rule.remote_group_id)}")
    return " ".join(parts)


def _protocol(rule: Rule, words: Words) -> Sequence[str]:
    if rule.protocol is None:
        return []
    number = _NUMBERS.get(rule.protocol) or int(rule.protocol)
    found = [f"{words.protocol} {number}"]
    if rule.port_min is None:
        return found
    if number == _ICMP:
        first, last = _icmp(rule.port_min, rule.port_max)
        return [*found, f"{words.icmp} {first}-{last}"]
    return [*found, f"{words.port} {rule.port_min}-{rule.port_max}"]


def _icmp(kind: int, code: int | None) -> tuple[int, int]:
    """Return the first and last number that type and code, a byte each, may make."""
    if code is None:
        return kind << 8, kind << 8 | 0xFF
    return kind << 8 | code, kind << 8 | code
