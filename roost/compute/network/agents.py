"""The collector of what Neutron's agents of a host report: physical networks and bandwidth.

Each agent is a part of the host, with the packets that it can process, and below it each of its
bridges or network cards, with bandwidth. Their uuids are those that Neutron derives from the names,
because Neutron looks for these when it binds a port that has some of it.
"""

import dataclasses
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, Self

import os_traits
from oslo_config import cfg

from roost.compute.collectors import Collected
from roost.external.neutron import Connect, Neutron, translated_errors
from roost.objects import ResourceInventory, ResourceProvider
from roost.objects.network import PHYSICAL_NETWORK

_ANY_NUMBER: Final = 2**31 - 1


class _Kind(NamedTuple):
    """A kind of agent, as Neutron's mechanism driver of it knows it.

    ``mappings``: in which of its settings the physical networks are.
    """

    namespace: uuid.UUID
    mappings: str
    vnic_types: tuple[str, ...]


_KINDS: Final[Mapping[str, _Kind]] = {
    "Open vSwitch agent": _Kind(
        uuid.UUID("87ee7d5c-73bb-11e8-9008-c4d987b2a692"),
        "bridge_mappings",
        ("normal", "direct", "smart-nic", "vdpa"),
    ),
    "NIC Switch agent": _Kind(
        uuid.UUID("87f1895c-73bb-11e8-9008-c4d987b2a692"),
        "device_mappings",
        ("direct", "macvtap", "direct-physical", "accelerator-direct"),
    ),
}
_BANDWIDTHS: Final = "resource_provider_bandwidths"
_PACKETS: Final = (
    "resource_provider_packet_processing_without_direction",
    "resource_provider_packet_processing_with_direction",
)
_BANDWIDTH_CLASSES: Final = {
    "egress": "NET_BW_EGR_KILOBIT_PER_SEC",
    "ingress": "NET_BW_IGR_KILOBIT_PER_SEC",
}
_PACKET_CLASSES: Final = {
    "egress": "NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC",
    "ingress": "NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC",
    "any": "NET_PACKET_RATE_KILOPACKET_PER_SEC",
}
_TUNNELS: Final = "CUSTOM_NETWORK_TUNNEL_PROVIDER"


@dataclasses.dataclass(frozen=True)
class NeutronAgents:
    """Reads the agents of a host from Neutron, with our own credentials.

    :param connect: returns the network proxy of openstacksdk
    """

    connect: Connect
    host: str
    interval: float = 60.0

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, *, node: str) -> Self:  # noqa: ARG003 - the host's
        return cls(Neutron(conf).ours, conf.host)

    def collect(self) -> Collected:
        with translated_errors():
            agents = list(self.connect().agents(host=self.host))
        known = [agent for agent in agents if agent.agent_type in _KINDS]
        return Collected(
            labels=tuple(sorted({label for agent in known for label in _labels(agent)})),
            providers=tuple(one for agent in known for one in _providers(agent)),
        )


def _labels(agent: Any) -> Iterator[str]:
    """Yield a label of each physical network; one without a value if the host reaches none."""
    mappings = agent.configuration.get(_KINDS[agent.agent_type].mappings)
    if mappings is not None:
        yield from (f"{PHYSICAL_NETWORK}={name}" for name in mappings or [""])


def _providers(agent: Any) -> Iterator[ResourceProvider]:
    kind, settings = _KINDS[agent.agent_type], agent.configuration
    vnic_types = [_trait(f"VNIC_TYPE_{one}") for one in kind.vnic_types]
    bandwidths = settings.get(_BANDWIDTHS) or {}
    packets: Mapping[str, Any] = next(
        (settings[name] for name in _PACKETS if settings.get(name)), {}
    )
    if not bandwidths and not packets:
        return
    yield ResourceProvider.of(
        name=agent.binary,
        uuid=str(uuid.uuid5(kind.namespace, agent.host)),
        traits=vnic_types,
        inventories=_inventories(
            packets.get(agent.host),
            _PACKET_CLASSES,
            settings.get("resource_provider_packet_processing_inventory_defaults"),
        ),
    )
    for device, rates in bandwidths.items():
        networks = _networks_of(device, settings.get(kind.mappings) or {})
        yield ResourceProvider.of(
            name=f"{agent.binary}:{device}",
            parent=agent.binary,
            uuid=str(uuid.uuid5(kind.namespace, f"{agent.host}:{device}")),
            traits=[*networks, *vnic_types],
            inventories=_inventories(
                rates, _BANDWIDTH_CLASSES, settings.get("resource_provider_inventory_defaults")
            ),
        )


def _networks_of(device: str, mappings: Mapping[str, Any]) -> list[str]:
    """Return the traits of a bridge or card by the physical networks that are mapped to it."""
    found = [
        _trait(f"PHYSNET_{name}")
        for name, mapped in mappings.items()
        if device == mapped or (isinstance(mapped, list) and device in mapped)
    ]
    return found or [_TUNNELS]


def _inventories(
    rates: Any, classes: Mapping[str, str], defaults: Mapping[str, Any] | None
) -> list[ResourceInventory]:
    """Return the inventories of rates by direction; a number is a rate of both together."""
    by_direction = rates if isinstance(rates, Mapping) else {"any": rates}
    return [
        ResourceInventory.of(
            resource_class=classes[direction],
            total=rate,
            **{"max_unit": _ANY_NUMBER, **(defaults or {})},
        )
        for direction, rate in by_direction.items()
        if rate and direction in classes
    ]


def _trait(name: str) -> str:
    """Return the custom trait of a name, as Neutron writes it."""
    return str(os_traits.normalize_name(name))
