"""Compute's deprecated network proxy APIs for the local driver: networks, no floating IPs."""

from collections.abc import Sequence
from typing import NoReturn

from roost import exception
from roost.api.networking.proxied import FloatingIp, ProxiedNetwork, ProxiedSubnet
from roost.api.request import Call
from roost.networks import LocalNetwork
from roost.objects import Instance


class LocalProxies:
    """Shows the networks of the options, which all projects share; refuses all other requests."""

    def __init__(self, known: Sequence[LocalNetwork]) -> None:
        self._known = known

    def networks(self, _call: Call) -> list[ProxiedNetwork]:
        return [_proxied(one) for one in self._known]

    def network(self, _call: Call, network_id: str) -> ProxiedNetwork:
        for one in self._known:
            if one.id == network_id:
                return _proxied(one)
        raise exception.NotFound("Network not found")

    def pools(self, _call: Call) -> list[str]:
        return []

    def floating_ips(self, _call: Call) -> list[FloatingIp]:
        return []

    def floating_ip(self, _call: Call, floating_ip_id: str) -> NoReturn:
        raise exception.NotFound(f"Floating IP not found for ID {floating_ip_id}")

    def take(self, _call: Call, _pool: str | None) -> NoReturn:
        raise exception.NotFound("Floating IP pool not found.")

    def give_back(self, call: Call, floating_ip_id: str) -> NoReturn:
        self.floating_ip(call, floating_ip_id)

    def associate(
        self, _call: Call, _instance: Instance, _address: str, *, fixed_address: str | None
    ) -> NoReturn:
        raise exception.NotFound("floating IP not found")

    def dissociate(self, _call: Call, _instance: Instance, _address: str) -> NoReturn:
        raise exception.NotFound("floating IP not found")

    def add_fixed(self, _call: Call, instance: Instance, _network_id: str) -> NoReturn:
        raise exception.Invalid(
            f"Instance {instance.uuid} gets addresses by its interfaces only:"
            " attach one (os-interface) instead."
        )

    def remove_fixed(self, _call: Call, instance: Instance, address: str) -> NoReturn:
        info, uuid = instance.network_info, instance.uuid
        if address not in [vif.ip for vif in (info.vifs if info else [])]:
            raise exception.Invalid(f"Unable to find instance {uuid} fixed ip {address}.")
        raise exception.Invalid(
            f"The address {address} of instance {uuid} goes with its interface:"
            " detach that (os-interface) instead."
        )


def _proxied(network: LocalNetwork) -> ProxiedNetwork:
    subnet = ProxiedSubnet(cidr=network.cidr, gateway=network.gateway)
    return ProxiedNetwork(id=network.id, label=network.name, subnets=[subnet])
