"""How the hosts of a rig with real guests are linked, on this machine and to each other.

All have one network of management, where this machine is their gateway; and those of a cell have
another one beside it, without addresses, on which guests go from host to host. Nothing is made
here.
"""

import dataclasses
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final

import psutil

MANAGEMENT: Final = "eth0"  # the link of a host that has its address
UPLINK: Final = "eth1"  # the link of a host by which guests reach those of others
PREFIX: Final = 24
_LOOPBACK: Final = ("127.0.0.1", "localhost")
_FIRST: Final = 11
MOST: Final = 200  # hosts of a rig, whose addresses end with the numbers from then on
# Kept for tests of networks (RFC 2544), so that no address in use elsewhere is hidden by it.
_RANGE: Final = [f"198.{18 + number // 256}.{number % 256}" for number in range(512)]

Options = Mapping[str, Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class RigLinks:
    """The links of one rig.

    :param rig: its name, which is in the names of all links
    :param subnet: the first three numbers of its addresses
    """

    rig: str
    subnet: str

    @property
    def gateway(self) -> str:
        """The address of this machine."""
        return f"{self.subnet}.1"

    @property
    def prefix(self) -> str:
        """What the names of all links of the rig on this machine begin with."""
        return f"rr{self.rig}"

    @property
    def switch(self) -> str:
        return f"{self.prefix}m"

    def cell_switch(self, number: int) -> str:
        """Return the switch of the guests of a cell, the first being 1."""
        return f"{self.prefix}c{number}"

    def link(self, kind: str, number: int) -> str:
        """Return the end on this machine of a host's link of a kind, ``m`` or ``g``."""
        return f"{self.prefix}{kind}{number}"

    def address(self, number: int) -> str:
        """Return the address of a host, the first being 0."""
        return f"{self.subnet}.{_FIRST + number}"

    def led(self, options: Options, *, broker: str | None) -> dict[str, dict[str, Any]]:
        """Return options for a host: what listens on this machine's loopback is at the gateway.

        :param broker: the machine of the broker, which is there, too, wherever it is
        """
        names = "|".join(map(re.escape, filter(None, [*_LOOPBACK, broker])))
        pattern = re.compile(rf"(?<![\w.-])(?:{names}):(\d+)")

        def lead(value: Any) -> Any:
            return pattern.sub(rf"{self.gateway}:\1", value) if isinstance(value, str) else value

        return {
            group: {name: lead(value) for name, value in values.items()}
            for group, values in options.items()
        }

    def doors(self, options: Iterable[Options]) -> set[int]:
        """Return the ports of the gateway that hosts with these options want."""
        pattern = re.compile(rf"(?<![\w.-]){re.escape(self.gateway)}:(\d+)")
        values = [value for each in options for group in each.values() for value in group.values()]
        words = [value for value in values if isinstance(value, str)]
        return {int(port) for word in words for port in pattern.findall(word)}


def free_subnet() -> str:
    """Return a subnet that no link of this machine is in."""
    known = {
        address.address.rpartition(".")[0]
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
    }
    return secrets.choice([subnet for subnet in _RANGE if subnet not in known])
