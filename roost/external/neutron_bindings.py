"""The bindings of Neutron ports on the two hosts of a live migration.

While the guest runs at the source, its ports have a second binding at the destination, which tells
how they are plugged there; the first one works. When the guest has arrived, or stays, the binding
on its host becomes the one that works, and all others are deleted. Everything may be repeated.
"""

import dataclasses
from typing import Any, Final

from roost.external.neutron import Connect, translated_errors
from roost.external.neutron_ports import (
    UNBINDABLE,
    BindingFailed,
    NeutronPorts,
    allocation,
    mark,
)
from roost.objects import Instance, NetworkRequest

# In the profile of a binding: the host that the guest is on its way to, as Neutron reads it.
_MIGRATING_TO: Final = "migrating_to"


@dataclasses.dataclass(frozen=True)
class PortBindings:
    """Adds, activates and deletes bindings, with our own credentials.

    :param connect: returns the network proxy of openstacksdk
    """

    ports: NeutronPorts
    connect: Connect

    def prepare(self, instance: Instance, *, host: str) -> list[Any]:
        """Bind the ports of an instance on another host, too; return them as they will be there.

        :raises BindingFailed: when Neutron cannot connect one of them to that host
        :raises roost.exception.RoostError: as :func:`roost.external.neutron.translated_errors` does
        """
        found, asked = self.ports.held(instance.uuid), dict(enumerate(instance.networks))
        with translated_errors():
            for port in found:
                if port.binding_host_id != host:
                    self._prepare(port, asked.get(mark(port)["position"]), host)
        return found

    def _prepare(self, port: Any, request: NetworkRequest | None, host: str) -> None:
        network, profile = self.connect(), dict(port.binding_profile or {})
        before = profile.pop(_MIGRATING_TO, None)
        binding = next(iter(network.port_bindings(port.id, host=host)), None)
        if binding is None:
            binding = network.create_port_binding(
                port.id,
                host=host,
                vnic_type=port.binding_vnic_type or "normal",
                profile={**profile, **(allocation(request) if request is not None else {})},
            )
        if binding.vif_type in UNBINDABLE:
            raise BindingFailed(f"Port {port.id} could not be bound to host {host}.")
        if before != host:
            network.update_port(port.id, binding_profile={**profile, _MIGRATING_TO: host})
        port.binding_host_id, port.binding_vif_type = host, binding.vif_type
        port.binding_vif_details, port.binding_profile = binding.vif_details, profile

    def activate(self, instance: Instance, *, host: str) -> list[Any]:
        """Let the ports of an instance work on this host, and on no other; return them.

        :raises BindingFailed: when Neutron cannot connect one of them to that host
        :raises roost.exception.RoostError: as :func:`roost.external.neutron.translated_errors` does
        """
        with translated_errors():
            for port in self.ports.held(instance.uuid):
                self._activate(port, host)
        return self.ports.held(instance.uuid)

    def _activate(self, port: Any, host: str) -> None:
        network, profile = self.connect(), dict(port.binding_profile or {})
        if port.binding_host_id != host and network.activate_port_binding(port.id, host) is None:
            bound = network.update_port(port.id, binding_host_id=host)
            if bound.binding_vif_type in UNBINDABLE:
                raise BindingFailed(f"Port {port.id} could not be bound to host {host}.")
        for other in network.port_bindings(port.id):
            if other.host != host:
                network.delete_port_binding(port.id, other.host)
        if port.binding_host_id == host and profile.pop(_MIGRATING_TO, None) is not None:
            network.update_port(port.id, binding_profile=profile)
