"""The Neutron ports of instances: created or taken, bound to a host, described, and released.

A port is identified by its ``device_id``, the instance's uuid, and by a mark in its binding
profile, which users cannot change: the position among the instance's interfaces, and whether Roost
or the user created it. So any caller may repeat any step: it finds the ports of earlier tries.

``LeftoverPorts`` is for audits: all Neutron ports that belong to a server by their device owner.
"""

import collections
import dataclasses
import json
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.external.neutron import Changed, Connect, named, translated_errors
from roost.objects import Instance, NetworkInfo, NetworkRequest, Vif, VifAddress

LOG = logging.getLogger(__name__)
OWNER: Final = "compute:"
_MARK: Final = "roost"
_ALLOCATION: Final = "allocation"
UNBINDABLE: Final = ("unbound", "binding_failed")
_ACTIVE: Final = "ACTIVE"
_DNS: Final = "dns-integration"


class BindingFailed(exception.RoostError):
    """Neutron cannot bind a port to that host; another host may work."""

    code = "binding_failed"


@dataclasses.dataclass(frozen=True)
class _Surroundings:
    """Resources around ports: networks and subnets by id, floating IPs by port id."""

    networks: Mapping[str, Any]
    subnets: Mapping[str, Any]
    floating: Mapping[str, Sequence[Any]]


class NeutronPorts:
    """Creates, binds and releases the ports of instances, with our own credentials.

    :param connect: returns the network proxy of openstacksdk
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._extensions: frozenset[str] | None = None

    def held(self, instance_uuid: str) -> list[Any]:
        """Return the marked ports of an instance, by position and then by id."""
        return self._held([instance_uuid])[instance_uuid]

    def _held(self, instance_uuids: Collection[str]) -> dict[str, list[Any]]:
        with translated_errors():
            found = named(self._connect().ports, "device_id", instance_uuids)
        ours = [port for port in found if (port.device_owner or "").startswith(OWNER)]
        held: dict[str, list[Any]] = {uuid: [] for uuid in instance_uuids}
        for port in sorted(filter(mark, ours), key=lambda port: (mark(port)["position"], port.id)):
            held[port.device_id].append(port)
        return held

    def ensure(
        self, instance: Instance, requests: Sequence[NetworkRequest], *, host: str, zone: str
    ) -> list[Any]:
        """Give an instance one port per request, bound to a host; ports that it has are reused.

        :raises BindingFailed: when Neutron cannot connect one of them to that host
        :raises roost.exception.RoostError: as :func:`roost.external.neutron.translated_errors` does
        """
        held = {mark(port)["position"]: port for port in reversed(self.held(instance.uuid))}
        for position, request in enumerate(requests):
            if position in held:
                held[position] = self._rebind(held[position], request, host)
            else:
                said = {"position": position, "tag": request.tag}
                held[position] = self.take(instance, request, host=host, zone=zone, said=said)
        return [held[position] for position in sorted(held)]

    def rebind(self, instance: Instance, *, host: str) -> list[Any]:
        """Bind all ports that an instance has to another host; raises as :meth:`ensure`.

        What it asked for at first it may have no more, and it may have got others.
        """
        asked = dict(enumerate(instance.networks))
        return [
            self._rebind(port, asked.get(mark(port)["position"]), host)
            for port in self.held(instance.uuid)
        ]

    def take(
        self,
        instance: Instance,
        request: NetworkRequest,
        *,
        host: str,
        zone: str,
        said: dict[str, Any],
    ) -> Any:
        """Create one port, or take the one that its user created, and bind it.

        :param said: the mark: ``position``, and further values to store
        """
        if request.port_id is not None:
            port = self._take_given(instance, request, host=host, zone=zone, said=said)
        else:
            port = self._make(instance, request, host=host, zone=zone, said=said)
        return _bound(port, host)

    def free(self, instance_uuid: str) -> int:
        """Delete the ports that Roost created, release the user's; return how many there were."""
        ports = self.held(instance_uuid)
        for port in ports:
            self.release(port)
        return len(ports)

    def release(self, port: Any, *, if_revision: int | None = None) -> None:
        """Delete a port, or unbind it if its user created it; it may have been deleted already.

        :param if_revision: release it only at this revision
        :raises Changed: when it has another revision
        """
        profile = {
            name: value
            for name, value in port.binding_profile.items()
            if name not in (_MARK, _ALLOCATION)
        }
        swap = {} if if_revision is None else {"if_revision": if_revision}
        try:
            with translated_errors():
                if mark(port)["made"]:
                    self._connect().delete_port(port.id, ignore_missing=True, **swap)
                else:
                    self._connect().update_port(
                        port.id,
                        device_id="",
                        device_owner="",
                        binding_host_id="",
                        binding_profile=profile,
                        **swap,
                    )
        except exception.NotFound:
            LOG.info("port %s was deleted already", port.id)

    def describe(self, ports: Sequence[Any]) -> NetworkInfo:
        """Return the network info of ports, for hypervisor, guest and user."""
        return _info(ports, self._surroundings(ports))

    def describe_all(self, instance_uuids: Collection[str]) -> dict[str, NetworkInfo]:
        """Return the network info of many instances by uuid, at little more cost than of one."""
        held = self._held(instance_uuids)
        around = self._surroundings([port for ports in held.values() for port in ports])
        return {uuid: _info(ports, around) for uuid, ports in held.items()}

    def _surroundings(self, ports: Sequence[Any]) -> _Surroundings:
        with translated_errors():
            network = self._connect()
        ids = {port.network_id for port in ports}
        floating = collections.defaultdict(list)
        for one in self._floating(network, {port.id for port in ports}):
            floating[one.port_id].append(one)
        return _Surroundings(
            networks={one.id: one for one in named(network.networks, "id", ids)},
            subnets={one.id: one for one in named(network.subnets, "network_id", ids)},
            floating=floating,
        )

    def _floating(self, network: Any, port_ids: Collection[str]) -> list[Any]:
        """Return the floating IPs of ports; a Neutron without routers has none."""
        try:
            return named(network.ips, "port_id", port_ids)
        except exception.NotFound:
            return []

    def _rebind(self, port: Any, request: NetworkRequest | None, host: str) -> Any:
        if port.binding_host_id != host or port.binding_vif_type in UNBINDABLE:
            changes: dict[str, Any] = {"binding_host_id": host}
            if request is not None and request.resources:
                changes["binding_profile"] = {**port.binding_profile, **allocation(request)}
            with translated_errors():
                port = self._connect().update_port(port.id, **changes)
        return _bound(port, host)

    def _make(
        self,
        instance: Instance,
        request: NetworkRequest,
        *,
        host: str,
        zone: str,
        said: dict[str, Any],
    ) -> Any:
        asked: dict[str, Any] = {
            "network_id": request.network_id,
            "project_id": instance.project_id,
            "is_admin_state_up": True,
            **_binding(instance, host=host, zone=zone, profile={_MARK: {**said, "made": True}}),
            **self._name(instance),
        }
        if request.fixed_ip is not None:
            asked["fixed_ips"] = [{"ip_address": request.fixed_ip}]
        if request.security_groups:
            asked["security_groups"] = list(request.security_groups)
        with translated_errors():
            port = self._connect().create_port(**asked)
            if port.resource_request:
                self._connect().delete_port(port.id, ignore_missing=True)
                raise exception.Invalid(
                    f"Network {request.network_id} has a policy by which its ports need resources"
                    " of their host: create a port, and the server with that."
                )
        return port

    def _take_given(
        self,
        instance: Instance,
        request: NetworkRequest,
        *,
        host: str,
        zone: str,
        said: dict[str, Any],
    ) -> Any:
        """Take a port that is free or this instance's already; the first caller gets it."""
        with translated_errors():
            port = self._connect().get_port(request.port_id)
        if port.device_id not in ("", None, instance.uuid):
            raise exception.Conflict(f"Port {port.id} is still in use.")
        profile = {**(port.binding_profile or {}), _MARK: {**said, "made": False}}
        profile |= allocation(request)
        changes = _binding(instance, host=host, zone=zone, profile=profile)
        with translated_errors():
            return self._connect().update_port(
                port, if_revision=port.revision_number, **changes, **self._name(instance)
            )

    def _name(self, instance: Instance) -> dict[str, str]:
        if self._extensions is None:
            with translated_errors():
                self._extensions = frozenset(one.alias for one in self._connect().extensions())
        return {"dns_name": str(instance.hostname)} if _DNS in self._extensions else {}


def mark(port: Any) -> dict[str, Any]:
    """Return our mark of a port; empty for other ports."""
    noted: dict[str, Any] = (port.binding_profile or {}).get(_MARK) or {}
    return noted


def allocation(request: NetworkRequest) -> dict[str, Any]:
    """Return what a binding profile says of the providers that a port has something of.

    Neutron wants them by group; the provider alone if the port names no groups.
    """
    by_group = {one.group_id: one.provider_uuid for one in request.resources}
    alone = by_group.get(str(request.port_id))
    return {_ALLOCATION: alone or by_group} if by_group else {}


def is_active(port: Any) -> bool:
    """Return whether a port is active: plugged, and wired by Neutron."""
    return bool(port.status == _ACTIVE)


def _binding(
    instance: Instance, *, host: str, zone: str, profile: dict[str, Any]
) -> dict[str, Any]:
    return {
        "device_id": instance.uuid,
        "device_owner": f"{OWNER}{zone}",
        "binding_host_id": host,
        "binding_profile": profile,
    }


def _bound(port: Any, host: str) -> Any:
    if port.binding_vif_type in UNBINDABLE:
        raise BindingFailed(f"Port {port.id} could not be bound to host {host}.")
    return port


def _info(ports: Sequence[Any], around: _Surroundings) -> NetworkInfo:
    return NetworkInfo.of(vifs=[_vif(port, around) for port in ports])


def _vif(port: Any, around: _Surroundings) -> Vif:
    network = around.networks.get(port.network_id)
    addresses = [_address(one, port, around) for one in port.fixed_ips or []]
    first = addresses[0] if addresses else None
    profile = {key: value for key, value in (port.binding_profile or {}).items() if key != _MARK}
    return Vif.of(
        id=port.id,
        network_id=port.network_id,
        network_name=network.name if network else port.network_id,
        mac=port.mac_address,
        ip=first.ip if first else "",
        cidr=first.cidr if first else "",
        gateway=first.gateway if first else None,
        host=port.binding_host_id,
        tag=mark(port).get("tag"),
        addresses=addresses,
        mtu=network.mtu if network else None,
        type=port.binding_vif_type,
        vnic_type=port.binding_vnic_type or "normal",
        details=_as_json(port.binding_vif_details or {}),
        profile=_as_json(profile),
        active=is_active(port),
        kept=not mark(port).get("made", False),
        key=mark(port).get("key"),
    )


def _address(given: dict[str, str], port: Any, around: _Surroundings) -> VifAddress:
    ip, subnet = given["ip_address"], around.subnets.get(given["subnet_id"])
    held = around.floating.get(port.id, ())
    floating = sorted(one.floating_ip_address for one in held if one.fixed_ip_address == ip)
    if subnet is None:
        return VifAddress.of(ip=ip, subnet_id=given["subnet_id"], cidr=ip, floating=floating)
    routes = [
        {"destination": one["destination"], "nexthop": one["nexthop"]}
        for one in subnet.host_routes or []
    ]
    return VifAddress.of(
        ip=ip,
        subnet_id=subnet.id,
        cidr=subnet.cidr,
        gateway=subnet.gateway_ip,
        dns=list(subnet.dns_nameservers or []),
        routes=routes,
        dhcp=bool(subnet.is_dhcp_enabled),
        ipv6_mode=subnet.ipv6_address_mode,
        floating=floating,
    )


def _as_json(values: dict[str, Any]) -> dict[str, str]:
    return {name: json.dumps(value) for name, value in values.items()}


_PAGE: Final = 500
_SECONDS: Final = 1800.0
_FIELDS: Final = ("id", "device_id", "device_owner", "binding:profile", "revision_number")


@dataclasses.dataclass(frozen=True)
class ServerPort:
    """A port that belongs to a server by its device owner.

    ``made``: whether Roost created it, rather than took a port of its user; None: it has no mark
    of Roost, so another compute service may own it.
    """

    id: str
    instance_uuid: str
    made: bool | None


class LeftoverPorts:
    """Lists and releases the ports of all servers, with our own credentials.

    :param connect: returns the network proxy of openstacksdk
    :param seconds: how long the list of all ports may take
    """

    def __init__(
        self,
        connect: Connect,
        *,
        seconds: float = _SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._ports = NeutronPorts(connect)
        self._seconds = seconds
        self._clock = clock

    def pages(self) -> Iterator[list[ServerPort]]:
        """Yield the ports of servers, some hundreds at a time, to bound the memory.

        :raises roost.exception.Unavailable: when Neutron does not answer; also half-way
        :raises roost.exception.Timeout: when the list takes too long
        """
        until = self._clock() + self._seconds
        page: list[ServerPort] = []
        for port in self._all():
            page += _server_ports([port])
            if len(page) >= _PAGE:
                yield page
                page = []
            if self._clock() > until:
                raise exception.Timeout(f"Neutron has not listed all ports in {self._seconds:g} s")
        yield page

    def look(self, port_ids: Collection[str]) -> list[ServerPort]:
        """Return those of these ports that exist and belong to a server.

        :raises roost.exception.Unavailable: when Neutron does not answer
        """
        with translated_errors():
            network = self._connect()
        return _server_ports(named(network.ports, "id", port_ids))

    def let_go(self, port_id: str, *, instance_uuid: str) -> bool:
        """Delete a port that Roost created, unbind one that it took, unless it has changed.

        :param instance_uuid: the instance that must still own it
        :returns: whether the port was released
        :raises roost.exception.Unavailable: when Neutron does not answer
        """
        try:
            with translated_errors():
                port = self._connect().get_port(port_id)
            marked = [one for one in _server_ports([port]) if one.made is not None]
            if [one.instance_uuid for one in marked] != [instance_uuid]:
                return False
            self._ports.release(port, if_revision=port.revision_number)
        except (exception.NotFound, Changed):
            return False
        return True

    def _all(self) -> Iterator[Any]:
        """Yield all ports: Neutron filters by exact device owner only, and that has the zone."""
        with translated_errors():
            ports = self._connect().ports(limit=_PAGE, fields=list(_FIELDS))
        while True:
            with translated_errors():
                port = next(ports, None)
            if port is None:
                return
            yield port


def _server_ports(ports: Sequence[Any]) -> list[ServerPort]:
    return [
        ServerPort(id=port.id, instance_uuid=port.device_id, made=mark(port).get("made"))
        for port in ports
        if port.device_id and (port.device_owner or "").startswith(OWNER)
    ]
