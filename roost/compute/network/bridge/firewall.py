"""The packet filter of a bridge: two nftables tables for each network.

Both are replaced in one transaction, so that a guest is never without a filter. Rules name links
that need not exist yet: they are in force before a guest is plugged.

The table of the family ``bridge`` prevents spoofing and foreign DHCP servers. A guest sends only
IPv4 and ARP, from its own hardware address and its own IP address, or 0.0.0.0 for DHCP. Nothing on
the bridge reaches the host itself. No frames of DHCP or 169.254.169.254 leave or enter the host:
each host serves its own guests. Packets of the network's own 169.254.169.254, which no guest can
spoof, always pass.

The table of the family ``ip`` has the rules of security groups. Packets that cross the bridge enter
it because the bridge has ``nf_call_iptables`` set, which connection tracking needs: kernels may
lack it for the family ``bridge``. Each network has its own conntrack zone, so two networks with the
same range do not mix. A packet is judged by the first packet of its connection: replies pass if the
request did, and removing a rule ends the connections that it allowed. Broadcasts have no
connection, so they are judged one by one, in the family ``bridge``, where the destination port is
known.
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
class Expressions:
    """The nft expressions that match a packet's endpoints and protocol."""

    source: str
    destination: str
    protocol: str
    port: str
    icmp: str


CONNECTION: Final = Expressions(
    source="ct original ip saddr",
    destination="ct original ip daddr",
    protocol="ct original protocol",
    port="ct original proto-dst",
    icmp="ct original proto-dst",  # type and code of the first packet, a byte each
)
FRAME: Final = Expressions(
    source="ip saddr",
    destination="ip daddr",
    protocol="ip protocol",
    port="th dport",
    icmp="@th,0,16",
)


def table(segment: Segment, *, zone: int) -> str:
    """Return the ``ip`` table of a network, to be loaded when it does not exist.

    :param zone: a conntrack zone that no other network of the host has
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
    """Return sets and chains, for the family ``bridge``, that judge broadcasts."""
    judging = [
        _chain(
            f"to_{port.tap}",
            "ether type arp accept",
            "ether type != ip drop",
            f"ip daddr {port.ip} accept",  # judged in the ip table
            f"ip saddr {METADATA} accept",
            *(f"{line} accept" for line in _lines(segment, port, INGRESS, FRAME)),
            "drop",
        )
        for port in segment.ports
    ]
    chains = ", ".join(f'"{port.tap}" : goto to_{port.tap}' for port in segment.ports)
    return [*_sets(segment), *judging, _chain("to_guests", _hooked_groups("forward", -200),
                                             f"oifname vmap {{ {chains} }}")]  # fmt: skip


def _judging(segment: Segment, port: BridgePort) -> Iterator[str]:
    allowed = _lines(segment, port, EGRESS, CONNECTION)
    yield _chain(f"from_{port.tap}", *(f"{line} return" for line in allowed), "drop")
    allowed = _lines(segment, port, INGRESS, CONNECTION)
    yield _chain(f"to_{port.tap}", *(f"{line} accept" for line in allowed), "drop")


def _passing(segment: Segment) -> str:
    """Send packets that cross the bridge to the chains of the connection's two guests."""
    began = ", ".join(f"{port.ip} : jump from_{port.tap}" for port in segment.ports)
    meant = ", ".join(f"{port.ip} : goto to_{port.tap}" for port in segment.ports)
    return _chain(
        "passing",
        _hooked_groups("forward", 0),
        f'iifname != "{segment.names.bridge}" accept',
        "ct state invalid drop",
        "ct state related accept",  # an ICMP error of an allowed connection
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
    """Yield a set of member addresses for each group that rules name."""
    for group_id, addresses in sorted(segment.filtering.members.items()):
        held = f" elements = {{ {', '.join(addresses)} }};" if addresses else ""
        yield f"set {_members(group_id)} {{ type ipv4_addr;{held} }}\n"


def _members(group_id: str) -> str:
    return "members_" + group_id.replace("-", "_")


def _lines(segment: Segment, port: BridgePort, direction: str, by: Expressions) -> list[str]:
    """Return the matches of a port's rules in a direction, without duplicates."""
    rules = segment.filtering.of_port(port.id, direction)
    ours = [rule for rule in rules if ETHERTYPES[rule.ethertype] == _IPV4]
    return list(dict.fromkeys(_line(rule, by) for rule in ours))


def _line(rule: SecurityGroupRule, by: Expressions) -> str:
    far = by.source if rule.direction == INGRESS else by.destination
    parts = [*_protocol(rule, by)]
    if rule.remote_prefix is not None:
        parts.append(f"{far} {ipaddress.ip_network(rule.remote_prefix, strict=False)}")
    if rule.remote_group_id is not None:
        parts.append(f"{far} @{_members(rule.remote_group_id)}")
    return " ".join(parts)


def _protocol(rule: SecurityGroupRule, by: Expressions) -> Sequence[str]:
    if rule.protocol is None:
        return []
    number = _NUMBERS.get(rule.protocol) or int(rule.protocol)
    found = [f"{by.protocol} {number}"]
    if rule.port_min is None:
        return found
    if number == _ICMP:
        first, last = _icmp(rule.port_min, rule.port_max)
        return [*found, f"{by.icmp} {first}-{last}"]
    return [*found, f"{by.port} {rule.port_min}-{rule.port_max}"]


def _icmp(kind: int, code: int | None) -> tuple[int, int]:
    """Return the first and last 16-bit number of an ICMP type and code (None: any code)."""
    if code is None:
        return kind << 8, kind << 8 | 0xFF
    return kind << 8 | code, kind << 8 | code


class Firewall:
    """Loads and deletes the tables of networks; both may be repeated."""

    def __init__(self, system: System) -> None:
        self._system = system

    def ensure(self, segment: Segment, *, zone: int) -> None:
        """Replace both tables of a network in one transaction.

        :param zone: a conntrack zone that no other network of the host has
        """
        text = rules(segment) + table(segment, zone=zone)
        self._system.run("nft", "-f", "-", text=text)

    def remove(self, names: SegmentNames) -> None:
        self._system.run("nft", "-f", "-", text=_without(names))


def _without(names: SegmentNames) -> str:
    """Return the commands that delete both tables, whether they exist or not."""
    return "".join(
        f"table {family} {names.table}\ndelete table {family} {names.table}\n"
        for family in ("bridge", "ip")
    )


def rules(segment: Segment) -> str:
    """Return the commands that replace the table of the family ``bridge``."""
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
    """Send each frame to the chain of its ingress link."""
    chains = {port.tap: f"of_{port.tap}" for port in segment.ports}
    if segment.uplink:
        chains[segment.uplink] = "of_outside"
    targets = ", ".join(f'"{link}" : goto {chain}' for link, chain in chains.items())
    return _chain("arriving", _hooked("prerouting"), f"iifname vmap {{ {targets} }}")


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
