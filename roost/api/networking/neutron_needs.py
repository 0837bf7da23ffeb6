"""What the ports and networks of new servers need of hosts, as Neutron tells administrators."""

import ipaddress
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from roost import exception
from roost.external.neutron import Connect, translated_errors
from roost.objects import Locality, NetworkRequest, PortResources
from roost.objects.network import PHYSICAL_NETWORK
from roost.objects.request import HOST

LOG = logging.getLogger(__name__)
_PHYSICAL: Final = "provider:physical_network"


def resources_of(port: Any, ours: Connect) -> list[PortResources]:
    """Return what a port needs of its host by its quality of service.

    :param port: as its user sees it: without these needs, but with the policy
    :param ours: returns the network proxy of openstacksdk with our own credentials
    :raises roost.exception.Unavailable: when Neutron does not say it
    """
    if not (port.qos_policy_id or port.qos_network_policy_id):
        return []
    with translated_errors():
        asked = ours().get_port(port.id).resource_request or {}
    alone = (
        [{**asked, "id": port.id}] if asked.get("resources") else []
    )  # without groups, as before
    return [
        PortResources.of(
            group_id=group["id"],
            port_id=port.id,
            amounts=dict(group["resources"]),
            required=list(group.get("required") or ()),
        )
        for group in asked.get("request_groups") or alone
    ]


def locality_of(requests: Iterable[NetworkRequest], ours: Connect) -> list[Locality]:
    """Return the labels of hosts that have the physical networks of a server.

    A port that is bound to a host already prefers that. If Neutron does not tell us of them, there
    are none: then a binding that fails leads to the next host.
    """
    found: list[Locality] = []
    try:
        for request in requests:
            found += _locality(request, ours())
    except exception.Unavailable as error:
        LOG.warning("the physical networks of a server are unknown: %s", error.message)
        return []
    return list({(one.label, *one.alternatives, one.hard): one for one in found}.values())


def _locality(request: NetworkRequest, network: Any) -> Iterator[Locality]:
    try:
        with translated_errors():
            port = network.get_port(request.port_id) if request.port_id else None
            names = _physical_networks(request, port, network)
    except exception.NotFound:  # deleted meanwhile: the build will say so
        return
    if names and all(names):
        first, *others = sorted({f"{PHYSICAL_NETWORK}={name}" for name in names})
        yield Locality.of(label=first, alternatives=others, hard=True, if_known=True)
    if port is not None and port.binding_host_id:
        yield Locality.of(label=f"{HOST}={port.binding_host_id}", hard=False)


def _physical_networks(request: NetworkRequest, port: Any, network: Any) -> list[str | None]:
    """Return the physical networks of which any will do; None: one that all hosts reach."""
    found = network.get_network(request.network_id)
    segments = found.segments or []
    if len(segments) < 2:  # noqa: PLR2004 - else the network is a routed one
        return [found.provider_physical_network]
    fixed = [one["subnet_id"] for one in port.fixed_ips or []] if port else []
    if request.fixed_ip:
        fixed = _subnets_with(request.fixed_ip, list(network.subnets(network_id=found.id)))
    ids = [network.get_subnet(one).segment_id for one in fixed]
    named = [network.get_segment(one).physical_network for one in ids if one]
    return named or [one.get(_PHYSICAL) for one in segments]


def _subnets_with(address: str, subnets: Sequence[Any]) -> list[str]:
    wanted = ipaddress.ip_address(address)
    return [one.id for one in subnets if wanted in ipaddress.ip_network(one.cidr)]
