"""Networks and floating IPs as Compute showed them before 2.44: values, and who knows them.

:class:`NetworkProxies` is the part of a network driver that the legacy resources use.
"""

import dataclasses
from collections.abc import Sequence
from typing import Protocol

from roost.api.request import Call
from roost.objects import Instance


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProxiedSubnet:
    """A range of addresses; ``cidr`` and, if it has one, the address of its router."""

    cidr: str
    gateway: str | None
    dns: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProxiedNetwork:
    """A network; of several subnets, Compute tells the first of each version of IP."""

    id: str
    label: str
    subnets: Sequence[ProxiedSubnet] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class FloatingIp:
    """An address of a pool; what it leads to: a fixed address, and the server that has that."""

    id: str
    address: str
    pool: str
    fixed_address: str | None = None
    instance_uuid: str | None = None


class NetworkProxies(Protocol):
    """Knows what Compute told of networks, and changes what it changed, as the user who asks."""

    def networks(self, call: Call) -> list[ProxiedNetwork]:
        """Return the networks of the caller's project, and those that all share."""

    def network(self, call: Call, network_id: str) -> ProxiedNetwork:
        """Return one network.

        :raises roost.exception.NotFound: when the caller sees none
        """

    def pools(self, call: Call) -> list[str]:
        """Return the names of what floating IPs may be taken from."""

    def floating_ips(self, call: Call) -> list[FloatingIp]:
        """Return the floating IPs of the caller's project."""

    def floating_ip(self, call: Call, floating_ip_id: str) -> FloatingIp:
        """Return one of them.

        :raises roost.exception.NotFound: when the caller sees none
        """

    def take(self, call: Call, pool: str | None) -> FloatingIp:
        """Take an address from a pool, by name or id; None: from the only one.

        :raises roost.exception.NotFound: when there is no such pool, or it is empty
        :raises roost.exception.QuotaExceeded: when the project may not have more
        """

    def give_back(self, call: Call, floating_ip_id: str) -> None:
        """Give an address back, whatever it leads to; raises as :meth:`floating_ip` does."""

    def associate(
        self, call: Call, instance: Instance, address: str, *, fixed_address: str | None
    ) -> None:
        """Let a floating IP lead to a server: to this address of it, else to its first.

        :raises roost.exception.NotFound: when the caller has no such floating IP
        :raises roost.exception.Invalid: when the server has no such address, or none that can be
            reached so
        """

    def dissociate(self, call: Call, instance: Instance, address: str) -> None:
        """Let a floating IP not lead to a server any more.

        :raises roost.exception.NotFound: when the caller has no such floating IP
        :raises roost.exception.Conflict: when it leads elsewhere
        """

    def add_fixed(self, call: Call, instance: Instance, network_id: str) -> None:
        """Give a server one more address of a network that it is in.

        :raises roost.exception.Invalid: when it is not, or that cannot be
        """

    def remove_fixed(self, call: Call, instance: Instance, address: str) -> None:
        """Take one of its fixed addresses from a server.

        :raises roost.exception.Invalid: when it has no such address, or that cannot be
        """
