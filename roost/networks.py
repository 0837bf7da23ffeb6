"""The networks of the local driver, from ``[network] local_networks``, and users' own.

roost-api resolves users' requests with them, cell-conductors allocate their addresses. Networks of
the option are not stored: their id is derived from the name, so it is the same in all daemons.
Networks that users create are in the API database; a request has all that its cell needs of one.
"""

import dataclasses
import functools
import ipaddress
import secrets
import uuid
from collections.abc import Sequence
from typing import Final

from roost import exception

Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAMESPACE: Final = uuid.UUID("7f0d3c5e-6f0b-5b7a-9d3e-2c1f4b8a9e60")
_OPTION: Final = "[network] local_networks"
_IPV4: Final = 4
_FEWEST_ADDRESSES: Final = 4  # network, gateway, one server, broadcast


@dataclasses.dataclass(frozen=True)
class LocalNetwork:
    """A named range of addresses; each cell allocates its own.

    Only hosts with all ``labels`` can plug it, and hosts with ``preferred_labels`` are preferred.
    A user's network has a ``given_id`` and, at the API level, the ``project_id`` of its owner;
    those of the option have neither.
    """

    name: str
    cidr: str
    labels: tuple[str, ...] = ()
    preferred_labels: tuple[str, ...] = ()
    given_id: str | None = None
    project_id: str | None = None

    @property
    def id(self) -> str:
        """The given uuid, or the one derived from the name."""
        return self.given_id or str(uuid.uuid5(_NAMESPACE, self.name))

    @property
    def subnet_id(self) -> str:
        """The uuid of the only subnet, derived from that of the network."""
        return str(uuid.uuid5(uuid.UUID(self.id), "subnet"))

    @property
    def gateway(self) -> str:
        """The first address of the range, which no server gets."""
        return str(self.subnet.network_address + 1)

    @property
    def last(self) -> str:
        """The last address of the range that a server may have."""
        return str(self.subnet[-2 if self.subnet.version == _IPV4 else -1])

    @functools.cached_property
    def subnet(self) -> Subnet:
        return ipaddress.ip_network(self.cidr)


def parse(options: Sequence[str]) -> list[LocalNetwork]:
    """Read networks; the first is the default one.

    An entry is like ``private=10.0.0.0/16``; ``label=physnet1`` and ``prefer=rack7`` may follow,
    any number of each.

    :raises roost.exception.Invalid: naming the entry and what is wrong with it
    """
    networks: list[LocalNetwork] = []
    for entry in options:
        network = _parse_one(entry)
        if any(network.name == other.name for other in networks):
            raise _bad(entry, f"the name {network.name!r} is used twice")
        networks.append(network)
    return networks


def _parse_one(entry: str) -> LocalNetwork:
    name, equals, rest = (part.strip() for part in entry.partition("="))
    cidr, *further = rest.split() or [""]
    if not (name and equals and cidr):
        raise _bad(entry, "it must read name=cidr, as in private=10.0.0.0/16")
    labels = _labels(entry, further)
    try:
        subnet = ipaddress.ip_network(cidr)
    except ValueError as error:
        raise _bad(entry, str(error)) from error
    if subnet.num_addresses < _FEWEST_ADDRESSES:
        raise _bad(entry, f"{cidr} has no address for a server")
    return LocalNetwork(
        name=name,
        cidr=str(subnet),
        labels=tuple(labels["label"]),
        preferred_labels=tuple(labels["prefer"]),
    )


def _labels(entry: str, items: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"label": [], "prefer": []}
    for item in items:
        kind, _, label = item.partition("=")
        if kind not in found or not label:
            raise _bad(entry, f"after the cidr comes label=... or prefer=..., not {item!r}")
        found[kind].append(label)
    return found


def check_cidr(cidr: str) -> str:
    """Return the normal form of a range of addresses.

    :raises roost.exception.Invalid: when it is not one, or too small for a server
    """
    try:
        subnet = ipaddress.ip_network(cidr)
    except ValueError as error:
        raise exception.Invalid(f"{cidr} is no range of addresses: {error}") from error
    if subnet.num_addresses < _FEWEST_ADDRESSES:
        raise exception.Invalid(f"{cidr} has no address for a server")
    return str(subnet)


def may_be_given(network: LocalNetwork, address: Address) -> bool:
    """Return whether a server may have this address of a network's range."""
    subnet = network.subnet
    kept_back = {subnet.network_address, subnet.network_address + 1}
    if subnet.version == _IPV4:
        kept_back.add(subnet.broadcast_address)
    return address not in kept_back


def fixed_ip(address: str, network: LocalNetwork) -> str:
    """Return the normal form of an address, if the network gives it to servers.

    :raises roost.exception.Invalid: when it does not
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError as error:
        raise exception.Invalid(f"{address!r} is not an IP address.") from error
    if found not in network.subnet or not may_be_given(network, found):
        raise exception.Invalid(
            f"Fixed IP {address} is not an address that network {network.name} "
            f"({network.cidr}) gives to servers."
        )
    return str(found)


def random_mac() -> str:
    """Return a locally administered unicast address."""
    return "02:" + secrets.token_bytes(5).hex(":")


def cells_share(network: LocalNetwork) -> int:
    """Return how many addresses, from the first, cells allocate; the API level has the others.

    So the two seldom collide: cells and the API level do not know each other's addresses.
    """
    return network.subnet.num_addresses * 3 // 4


def _bad(entry: str, why: str) -> exception.Invalid:
    return exception.Invalid(f"{_OPTION} has a bad entry {entry!r}: {why}")
