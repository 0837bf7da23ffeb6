"""What may pass on a bridge: two tables of nftables for each network.

Both are written whole and put in place at once, so that a guest is never without. Rules name links,
which need not be there yet: they are in force before a guest is plugged.

The one of the family ``bridge`` has guests send as themselves, and nobody but us answer DHCP. A
guest sends nothing but IPv4 and ARP, from its own hardware address and its own IP address; 0.0.0.0
is for asking for one. Nothing on the bridge reaches the host itself. Beyond the host goes nothing
of DHCP and of 169.254.169.254: each host serves its own guests. The network's own 169.254.169.254,
which nobody else can send as, is always let pass.

The one of the family ``ip`` has what security groups let pass. What crosses the bridge comes there
because the bridge says so of itself (``nf_call_iptables``), and only with that do connections have
a state: kernels may know none of the family ``bridge``. Each network has a zone of connections of
its own, so two of one range do not meet. A packet is judged by how its connection began: an answer
passes as the question did, and a rule that is removed ends what it let pass. What belongs to no one
connection, broadcasts that is, is judged as it is, in the family ``bridge``, where it is known to
whom it goes.
"""

import dataclasses
import ipaddress
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from roost.compute.network.bridge.ports import BridgePort
from roost.compute.network.bridge.segment import METADATA, Segment, SegmentNames
from roost.compute.network.bridge.system import System
from roost.security_groups import EGRESS, ETHERTYPES, INGRESS, SecurityGroupRule

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
        _chain("zone", _hooked_groups("prerouting", -300), f"{_of(segment)} ct zone set {zone}"),
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
    return [*_sets(segment), *judging, _chain("to_guests", _hooked_groups("forward", -200),
                                             f"oifname vmap {{ {whom} }}")]  # fmt: skip


def _judging(segment: Segment, port: BridgePort) -> Iterator[str]:
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
        _hooked_groups("forward", 0),
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


def _hooked_groups(hook: str, priority: int) -> str:
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


def _lines(segment: Segment, port: BridgePort, direction: str, words: Words) -> list[str]:
    """Return what may pass in a direction, a line each; none of them twice."""
    rules = segment.filtering.of_port(port.id, direction)
    ours = [rule for rule in rules if ETHERTYPES[rule.ethertype] == _IPV4]
    return list(dict.fromkeys(_line(rule, words) for rule in ours))


def _line(rule: SecurityGroupRule, words: Words) -> str:
    far = words.source if rule.direction == INGRESS else words.destination
    parts = [*_protocol(rule, words)]
    if rule.remote_prefix is not None:
        parts.append(f"{far} {ipaddress.ip_network(rule.remote_prefix, strict=False)}")
    if rule.remote_group_id is not None:
        parts.append(f"{far} @{_members(rule.remote_group_id)}")
    return " ".join(parts)


def _protocol(rule: SecurityGroupRule, words: Words) -> Sequence[str]:
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


class Firewall:
    """Puts tables in place and takes them away; both may be repeated."""

    def __init__(self, system: System) -> None:
        self._system = system

    def ensure(self, segment: Segment, *, zone: int) -> None:
        """Have both tables of a network as they are to be, at once.

        :param zone: of connections, that no other network of the host has
        """
        text = rules(segment) + table(segment, zone=zone)
        self._system.run("nft", "-f", "-", text=text)

    def remove(self, names: SegmentNames) -> None:
        self._system.run("nft", "-f", "-", text=_without(names))


def _without(names: SegmentNames) -> str:
    """Return what removes both tables, whether they are there or not."""
    return "".join(
        f"table {family} {names.table}\ndelete table {family} {names.table}\n"
        for family in ("bridge", "ip")
    )


def rules(segment: Segment) -> str:
    """Return the whole table of the family ``bridge``, as nft reads it."""
    chains = [
        _arriving(segment),
        *(_of_guest(port) for port in segment.ports),
        _for_host(segment),
        *broadcasts(segment),
        *([_OUTSIDE, _leaving(segment.uplink)] if segment.uplink else []),
    ]
    body = textwrap.indent("".join(chains), "  ")
    return f"{_without(segment.names)}table bridge {segment.names.table} {{\n{body}}}\n"


def _hooked(hook: str) -> str:
    return f"type filter hook {hook} priority -300; policy accept;"


def _arriving(segment: Segment) -> str:
    """Send each frame to the chain of the link that it comes by."""
    chains = {port.tap: f"of_{port.tap}" for port in segment.ports}
    if segment.uplink:
        chains[segment.uplink] = "of_outside"
    whose = ", ".join(f'"{link}" : goto {chain}' for link, chain in chains.items())
    return _chain("arriving", _hooked("prerouting"), f"iifname vmap {{ {whose} }}")


def _of_guest(port: BridgePort) -> str:
    return _chain(
        f"of_{port.tap}",
        f"ether saddr != {port.mac} drop",
        f"ether type arp arp saddr ether {port.mac} arp saddr ip {{ 0.0.0.0, {port.ip} }} accept",
        "ether type ip ip saddr 0.0.0.0 udp sport 68 udp dport 67 accept",
        "ether type ip udp sport 67 drop",
        f"ether type ip ip saddr {port.ip} accept",
        "drop",
    )


def _for_host(segment: Segment) -> str:
    links = [segment.names.outer, *(port.tap for port in segment.ports)]
    if segment.uplink:
        links.append(segment.uplink)
    named = ", ".join(f'"{link}"' for link in links)
    return _chain("for_host", _hooked("input"), f"iifname {{ {named} }} drop")


_OURS = (
    f"ether type arp arp saddr ip {METADATA} drop",
    f"ether type arp arp daddr ip {METADATA} drop",
    f"ether type ip ip saddr {METADATA} drop",
    f"ether type ip ip daddr {METADATA} drop",
    "ether type ip udp dport { 67, 68 } drop",
)
_OUTSIDE = _chain("of_outside", *_OURS, "accept")


def _leaving(link: str) -> str:
    return _chain(
        "leaving",
        _hooked("forward"),
        *(f'oifname "{link}" {rule}' for rule in _OURS),
    )
