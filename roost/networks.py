"""The networks of the local driver, as ``[network] local_networks`` names them.

roost-api resolves what users ask for with them, cell-conductors give out their addresses. Nobody
stores them: the id follows from the name, so all who read the same option mean the same network.
"""

import dataclasses
import functools
import ipaddress
import uuid
from collections.abc import Sequence
from typing import Final

from roost import exception

Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAMESPACE: Final = uuid.UUID("7f0d3c5e-6f0b-5b7a-9d3e-2c1f4b8a9e60")
_OPTION: Final = "[network] local_networks"
_FEWEST_ADDRESSES: Final = 4  # network, gateway, one server, broadcast


@dataclasses.dataclass(frozen=True)
class LocalNetwork:
    """A named range of addresses; each cell gives out its own."""

    name: str
    cidr: str

    @property
    def id(self) -> str:
        """The uuid that follows from the name."""
        return str(uuid.uuid5(_NAMESPACE, self.name))

    @property
    def gateway(self) -> str:
        """The first address of the range, which no server gets."""
        return str(self.subnet.network_address + 1)

    @functools.cached_property
    def subnet(self) -> Subnet:
        return ipaddress.ip_network(self.cidr)


def parse(options: Sequence[str]) -> list[LocalNetwork]:
    """Read networks from entries like ``private=10.0.0.0/16``; the first is the default one.

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
    name, equals, cidr = (part.strip() for part in entry.partition("="))
    if not (name and equals and cidr):
        raise _bad(entry, "it must read name=cidr, as in private=10.0.0.0/16")
    try:
        subnet = ipaddress.ip_network(cidr)
    except ValueError as error:
        raise _bad(entry, str(error)) from error
    if subnet.num_addresses < _FEWEST_ADDRESSES:
        raise _bad(entry, f"{cidr} has no address for a server")
    return LocalNetwork(name=name, cidr=str(subnet))


def _bad(entry: str, why: str) -> exception.Invalid:
    return exception.Invalid(f"{_OPTION} has a bad entry {entry!r}: {why}")
