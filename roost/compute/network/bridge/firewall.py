"""What may pass on a bridge: guests send as themselves, and nobody but us answers DHCP.

A table of nftables in the family ``bridge`` for each network, written whole and put in place at
once, so that a guest is never without. Rules name links, which need not be there yet: they are in
force before a guest is plugged. A guest sends nothing but IPv4 and ARP, from its own hardware
address and its own IP address; 0.0.0.0 is for asking for one. Nothing on the bridge reaches the
host itself. Beyond the host goes nothing of DHCP and of 169.254.169.254: each host serves its own
guests. What else may pass at a guest is said by its security groups: ``groups.py``.
"""

import textwrap

from roost.compute.network.bridge import groups
from roost.compute.network.bridge.ports import Port
from roost.compute.network.bridge.segment import METADATA, Names, Segment
from roost.compute.network.bridge.system import System


class Firewall:
    """Puts tables in place and takes them away; both may be repeated."""

    def __init__(self, system: System) -> None:
        self._system = system

    def ensure(self, segment: Segment, *, zone: int) -> None:
        """Have both tables of a network as they are to be, at once.

        :param zone: of connections, that no other network of the host has
        """
        text = rules(segment) + groups.table(segment, zone=zone)
        self._system.run("nft", "-f", "-", text=text)

    def remove(self, names: Names) -> None:
        self._system.run("nft", "-f", "-", text=_without(names))


def _without(names: Names) -> str:
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
        *groups.broadcasts(segment),
        *([_OUTSIDE, _leaving(segment.uplink)] if segment.uplink else []),
    ]
    body = textwrap.indent("".join(chains), "  ")
    return f"{_without(segment.names)}table bridge {segment.names.table} {{\n{body}}}\n"


def _chain(name: str, *lines: str) -> str:
    return f"chain {name} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _hooked(hook: str) -> str:
    return f"type filter hook {hook} priority -300; policy accept;"


def _arriving(segment: Segment) -> str:
    """Send each frame to the chain of the link that it comes by."""
    chains = {port.tap: f"of_{port.tap}" for port in segment.ports}
    if segment.uplink:
        chains[segment.uplink] = "of_outside"
    whose = ", ".join(f'"{link}" : goto {chain}' for link, chain in chains.items())
    return _chain("arriving", _hooked("prerouting"), f"iifname vmap {{ {whose} }}")


def _of_guest(port: Port) -> str:
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
