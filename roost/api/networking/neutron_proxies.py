"""Networks and floating IPs of Neutron for the legacy resources, with the user's token."""

import collections
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from roost import exception
from roost.api.networking.neutron_ports import available
from roost.api.networking.proxied import FloatingIp, ProxiedNetwork, ProxiedSubnet
from roost.api.request import Call
from roost.external.neutron import Neutron, named, translated_errors
from roost.objects import Instance


class NeutronProxies:
    """Proxied networks in Neutron; stores nothing itself."""

    def __init__(self, neutron: Neutron) -> None:
        self._neutron = neutron

    def networks(self, call: Call) -> list[ProxiedNetwork]:
        """Return the networks of the project, the shared and the external ones."""
        network = self._of_user(call)
        found = {one.id: one for one in (*available(network, call.project_id), *_pools(network))}
        return _proxied(network, [*found.values()])

    def network(self, call: Call, network_id: str) -> ProxiedNetwork:
        network = self._of_user(call)
        with _missing("Network not found"):
            found = network.get_network(network_id)
        return _proxied(network, [found])[0]

    def pools(self, call: Call) -> list[str]:
        return [one.name or one.id for one in _pools(self._of_user(call))]

    def floating_ips(self, call: Call) -> list[FloatingIp]:
        network = self._of_user(call)
        with _missing("Network not found"):
            found = list(network.ips(project_id=call.project_id))
        return _floating(network, found)

    def floating_ip(self, call: Call, floating_ip_id: str) -> FloatingIp:
        network = self._of_user(call)
        with _missing(f"Floating IP not found for ID {floating_ip_id}"):
            found = network.get_ip(floating_ip_id)
        return _floating(network, [found])[0]

    def take(self, call: Call, pool: str | None) -> FloatingIp:
        network = self._of_user(call)
        wanted = [one for one in _pools(network) if pool in (None, one.name, one.id)]
        if not wanted:
            raise exception.NotFound("Floating IP pool not found.")
        if len(wanted) > 1:
            raise exception.Invalid("There are several such pools of floating IPs: name one by id.")
        try:
            with translated_errors():
                made = network.create_ip(floating_network_id=wanted[0].id)
        except exception.NoCapacity as error:
            raise exception.NotFound(f"No more floating IPs in pool {wanted[0].name}.") from error
        return _floating(network, [made])[0]

    def give_back(self, call: Call, floating_ip_id: str) -> None:
        with _missing(f"Floating IP not found for ID {floating_ip_id}"):
            self._of_user(call).delete_ip(floating_ip_id, ignore_missing=False)

    def associate(
        self, call: Call, instance: Instance, address: str, *, fixed_address: str | None
    ) -> None:
        network = self._of_user(call)
        found = _by_address(network, address)
        port, fixed = _end(_ports(network, instance), fixed_address)
        try:
            with translated_errors():
                network.update_ip(found.id, port_id=port.id, fixed_ip_address=fixed)
        except (exception.NotFound, exception.Conflict) as error:
            raise exception.Invalid(
                f"Unable to associate floating IP {address} to fixed IP {fixed} for instance"
                f" {instance.uuid}. Error: {error.message}"
            ) from error

    def dissociate(self, call: Call, instance: Instance, address: str) -> None:
        network = self._of_user(call)
        found = _by_address(network, address)
        if found.port_id not in {port.id for port in _ports(network, instance)}:
            raise exception.Conflict(
                f"Floating IP {address} is not associated with instance {instance.uuid}."
            )
        with translated_errors():
            network.update_ip(found.id, port_id=None)

    def add_fixed(self, call: Call, instance: Instance, network_id: str) -> None:
        network = self._of_user(call)
        ports = [one for one in _ports(network, instance) if one.network_id == network_id]
        if not ports:
            raise exception.Invalid(f"Instance {instance.uuid} is not in network {network_id}.")
        with translated_errors():
            subnets = list(network.subnets(network_id=network_id))
        refused: exception.RoostError = exception.Invalid(f"{network_id} has no subnet.")
        for subnet in subnets:
            try:
                return _change(network, ports[0], [*_fixed(ports[0]), {"subnet_id": subnet.id}])
            except (exception.NoCapacity, exception.Invalid) as error:
                refused = error
        raise exception.Invalid(refused.message)

    def remove_fixed(self, call: Call, instance: Instance, address: str) -> None:
        network = self._of_user(call)
        for port in _ports(network, instance):
            left = [one for one in _fixed(port) if one["ip_address"] != address]
            if left != _fixed(port):
                return _change(network, port, left)
        raise exception.Invalid(f"Unable to find instance {instance.uuid} fixed ip {address}.")

    def _of_user(self, call: Call) -> Any:
        return self._neutron.of_user(call.context)


@contextlib.contextmanager
def _missing(message: str) -> Iterator[None]:
    """Replace Neutron's NotFound by one with Compute's message."""
    try:
        with translated_errors():
            yield
    except exception.NotFound as error:
        raise exception.NotFound(message) from error


def _proxied(network: Any, found: Sequence[Any]) -> list[ProxiedNetwork]:
    subnets = collections.defaultdict(list)
    for one in named(network.subnets, "network_id", {each.id for each in found}):
        dns = list(one.dns_nameservers or [])
        subnet = ProxiedSubnet(cidr=one.cidr, gateway=one.gateway_ip, dns=dns)
        subnets[one.network_id].append(subnet)
    return [ProxiedNetwork(id=one.id, label=one.name, subnets=subnets[one.id]) for one in found]


def _pools(network: Any) -> list[Any]:
    with translated_errors():
        return list(network.networks(is_router_external=True))


def _floating(network: Any, found: Sequence[Any]) -> list[FloatingIp]:
    ports = {one.port_id for one in found if one.port_id}
    holders = {one.id: one.device_id for one in named(network.ports, "id", ports)}
    networks = {one.floating_network_id for one in found}
    pools = {one.id: one.name for one in named(network.networks, "id", networks)}
    return [
        FloatingIp(
            id=one.id,
            address=one.floating_ip_address,
            pool=pools.get(one.floating_network_id) or one.floating_network_id,
            fixed_address=one.fixed_ip_address,
            instance_uuid=holders.get(one.port_id) or None,
        )
        for one in found
    ]


def _by_address(network: Any, address: str) -> Any:
    with _missing("floating IP not found"):
        found = list(network.ips(floating_ip_address=address))
    if not found:
        raise exception.NotFound("floating IP not found")
    if len(found) > 1:
        raise exception.Conflict(f"Multiple floating IPs are found for address {address}.")
    return found[0]


def _ports(network: Any, instance: Instance) -> list[Any]:
    """Return the ports of a server, in the order of its interfaces."""
    with translated_errors():
        found = {one.id: one for one in network.ports(device_id=instance.uuid)}
    vifs = instance.network_info.vifs if instance.network_info else []
    known = [vif.id for vif in vifs if vif.id in found]
    return [found[port_id] for port_id in [*known, *sorted(found.keys() - {*known})]]


def _fixed(port: Any) -> list[dict[str, str]]:
    return list(port.fixed_ips or [])


def _end(ports: Sequence[Any], fixed_address: str | None) -> tuple[Any, str]:
    """Return the port and the fixed address for a floating IP."""
    pairs = [(port, one["ip_address"]) for port in ports for one in _fixed(port)]
    if fixed_address is None:
        pairs = [(port, ip) for port, ip in pairs if ":" not in ip]
        if not pairs:
            raise exception.Invalid("No fixed IPs associated to instance")
        return pairs[0]
    for port, ip in pairs:
        if ip == fixed_address:
            return port, ip
    raise exception.Invalid("Specified fixed address not assigned to instance")


def _change(network: Any, port: Any, fixed_ips: list[dict[str, str]]) -> None:
    with translated_errors():
        network.update_port(port.id, fixed_ips=fixed_ips, if_revision=port.revision_number)
