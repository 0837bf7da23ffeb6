"""Networks and floating IPs for Compute's API before 2.44: values, and the interface for them.

:class:`NetworkProxies` is the part of a network driver that the legacy resources use.
"""

import dataclasses
from collections.abc import Sequence
from typing import Protocol

from roost.api.request import Call
from roost.objects import Instance


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProxiedSubnet:
    """A range of addresses: ``cidr`` and, if it has a router, the gateway address."""

    cidr: str
    gateway: str | None
    dns: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProxiedNetwork:
    """A network; Compute shows its first subnet of each IP version."""

    id: str
    label: str
    subnets: Sequence[ProxiedSubnet] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class FloatingIp:
    """An address of a pool, its fixed address, and the server of that."""

    id: str
    address: str
    pool: str
    fixed_address: str | None = None
    instance_uuid: str | None = None


class NetworkProxies(Protocol):
    """Reads and changes networks for Compute's legacy resources, with the user's rights."""

    def networks(self, call: Call) -> list[ProxiedNetwork]:
        """Return the networks of the caller's project, and the shared ones."""

    def network(self, call: Call, network_id: str) -> ProxiedNetwork:
        """Return one network.

        :raises roost.exception.NotFound: when the caller sees none
        """

    def pools(self, call: Call) -> list[str]:
        """Return the names of the pools of floating IPs."""

    def floating_ips(self, call: Call) -> list[FloatingIp]:
        """Return the floating IPs of the caller's project."""

    def floating_ip(self, call: Call, floating_ip_id: str) -> FloatingIp:
        """Return one of them.

        :raises roost.exception.NotFound: when the caller sees none
        """

    def take(self, call: Call, pool: str | None) -> FloatingIp:
        """Allocate an address from a pool, by name or id; None: from the only one.

        :raises roost.exception.NotFound: when there is no such pool, or it is empty
        :raises roost.exception.QuotaExceeded: when the project may not have more
        """

    def give_back(self, call: Call, floating_ip_id: str) -> None:
        """Release a floating IP, even if associated; raises as :meth:`floating_ip` does."""

    def associate(
        self, call: Call, instance: Instance, address: str, *, fixed_address: str | None
    ) -> None:
        """Associate a floating IP with a fixed address of a server; None: with its first.

        :raises roost.exception.NotFound: when the caller has no such floating IP
        :raises roost.exception.Invalid: when the server has no such address, or none that a
            floating IP can reach
        """

    def dissociate(self, call: Call, instance: Instance, address: str) -> None:
        """Dissociate a floating IP from a server.

        :raises roost.exception.NotFound: when the caller has no such floating IP
        :raises roost.exception.Conflict: when it is not associated with the server
        """

    def add_fixed(self, call: Call, instance: Instance, network_id: str) -> None:
        """Add another address of a network to a server in that network.

        :raises roost.exception.Invalid: when the server is not in it, or no address can be added
        """

    def remove_fixed(self, call: Call, instance: Instance, address: str) -> None:
        """Remove a fixed address from a server.

        :raises roost.exception.Invalid: when it has no such address, or it cannot be removed
        """
