"""The network driver of Neutron: validates requests of users in Neutron, with their token."""

import logging
from collections.abc import Sequence
from typing import Any, Final, Self

from oslo_config import cfg

from roost import exception
from roost.api.networking import neutron_needs as needs
from roost.api.networking import neutron_ports as ports
from roost.api.networking.neutron_groups import NeutronGroups, check_filtered
from roost.api.networking.neutron_proxies import NeutronProxies
from roost.api.request import Call
from roost.db.engine import Session
from roost.external.neutron import Neutron, translated_errors
from roost.objects import Instance, Locality, NetworkRequest
from roost.security_groups import Group

LOG = logging.getLogger(__name__)
_AUTO: Final = "auto"
_RESOURCES: Final = 72  # the microversion since which ports with a resource request are served
CHECKED: Final = "Made by Compute to check an address; not needed any more."


class NeutronNetworking:
    """Calls Neutron with the token of the user."""

    external = True

    def __init__(self, neutron: Neutron) -> None:
        self._neutron = neutron
        self.groups = NeutronGroups(neutron)
        self.proxies = NeutronProxies(neutron)

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        return cls(Neutron(conf, hasty=True))

    def requests(
        self,
        call: Call,
        asked: dict[str, Any],
        *,
        groups: Sequence[Group],
        least: int,
        most: int,
    ) -> list[NetworkRequest]:
        wanted: Any = asked.get("networks") or _AUTO
        if wanted == "none":
            return []
        network = self._neutron.of_user(call.context)
        if wanted == _AUTO:
            found = _any(network, call, make=asked.get("networks") == _AUTO)
            nics: list[dict[str, Any]] = [{"uuid": found}] if found else []
        else:
            nics = wanted
        given = [nic["port"] for nic in nics if nic.get("port")]
        if len(set(given)) != len(given):
            raise exception.Invalid("A port is named twice.")
        made = [self._request(network, call, nic, groups=groups, alone=most == 1) for nic in nics]
        if any(request.resources for request in made) and call.version < _RESOURCES:
            raise exception.Invalid(
                "Creating servers with ports having resource requests, like a port with a QoS"
                f" minimum bandwidth policy, is not supported until microversion 2.{_RESOURCES}."
            )
        new = sum(request.port_id is None for request in made)
        ports.check_quota(network, call.project_id, asked=new * least)
        return made

    def take(
        self,
        session: Session,
        *,
        requests: Sequence[NetworkRequest],
        groups: Sequence[Group],
        uuids: Sequence[str],
    ) -> None:
        """Record nothing: Neutron does."""

    def attachment(
        self, call: Call, asked: dict[str, Any], *, instance: Instance
    ) -> NetworkRequest:
        network = self._neutron.of_user(call.context)
        nic: dict[str, Any] = {"tag": asked.get("tag")}
        if "port_id" in asked:
            nic["port"] = asked["port_id"]
        else:
            nic["uuid"] = asked.get("net_id") or _any(network, call, make=False)
            if nic["uuid"] is None:
                raise exception.Invalid("No networks defined: there is none to attach.")
        for address in asked.get("fixed_ips", []):
            nic["fixed_ip"] = address["ip_address"]
        request = self._request(network, call, nic, alone=True, missing=exception.NotFound)
        if request.resources:
            raise exception.Invalid(
                f"Attaching interfaces with QoS policy is not supported for instance"
                f" {instance.uuid}: port {request.port_id} needs resources of the host, which are"
                " claimed when a server is created."
            )
        return request

    def give_back(
        self, session: Session, instance_uuid: str, *, port_id: str | None, network_id: str | None
    ) -> None:
        """Record nothing: Neutron does."""

    def locality(self, requests: Sequence[NetworkRequest]) -> list[Locality]:
        return needs.locality_of(requests, self._neutron.ours)

    def _request(
        self,
        network: Any,
        call: Call,
        nic: dict[str, Any],
        *,
        alone: bool,
        groups: Sequence[Group] = (),
        missing: type[exception.RoostError] = exception.Invalid,
    ) -> NetworkRequest:
        """Validate one interface; ``missing`` is raised for a missing network or port.

        :param groups: of a new port; existing ports keep theirs
        """
        if nic.get("port"):
            port = _port(network, nic, alone=alone, missing=missing)
            return NetworkRequest.of(
                network_id=port.network_id,
                fixed_ip=None,
                port_id=port.id,
                tag=nic.get("tag"),
                resources=needs.resources_of(port, self._neutron.ours),
            )
        return _new_port(network, call, nic, alone=alone, groups=groups, missing=missing)


def _any(network: Any, call: Call, *, make: bool) -> str | None:
    """Return the only network of the project; if it has none: None, or an auto-allocated one.

    :raises roost.exception.Conflict: when there are several
    """
    project = call.project_id
    found = {one.id for one in ports.available(network, project) if not one.is_router_external}
    if len(found) > 1:
        raise exception.Conflict(
            "Multiple possible networks found, use a Network ID to be more specific."
        )
    if found:
        return str(found.pop())
    return _made_for(network, project) if make else None


def _made_for(network: Any, project: str) -> str:
    """Let Neutron auto-allocate a network."""
    try:
        with translated_errors():
            return str(network.get_auto_allocated_topology(project).id)
    except exception.Unavailable:
        raise
    except exception.RoostError as error:
        raise exception.Invalid(
            f"Unable to automatically allocate a network for project {project}"
        ) from error


def _port(
    network: Any, nic: dict[str, Any], *, alone: bool, missing: type[exception.RoostError]
) -> Any:
    if nic.get("fixed_ip") is not None:
        raise exception.Invalid(
            f"Specified Fixed IP '{nic['fixed_ip']}' cannot be used with port '{nic['port']}': the"
            " two cannot be specified together."
        )
    return ports.given(network, nic["port"], alone=alone, missing=missing)


def _new_port(
    network: Any,
    call: Call,
    nic: dict[str, Any],
    *,
    alone: bool,
    groups: Sequence[Group],
    missing: type[exception.RoostError],
) -> NetworkRequest:
    address = nic.get("fixed_ip")
    if "uuid" not in nic:
        raise exception.Invalid("Bad networks format: missing 'uuid'")
    found = _network(network, call, nic["uuid"], missing)
    if address is not None:
        _check_address(network, found, address, alone=alone)
    if groups:
        check_filtered(network, found)
    return NetworkRequest.of(
        network_id=found.id,
        fixed_ip=address,
        port_id=None,
        tag=nic.get("tag"),
        security_groups=[group.id for group in groups],
    )


def _network(network: Any, call: Call, network_id: str, missing: type[exception.RoostError]) -> Any:
    try:
        with translated_errors():
            found = network.get_network(network_id)
    except exception.NotFound as error:
        raise missing(f"Network {network_id} could not be found.") from error
    if not found.subnet_ids:
        raise exception.Invalid(
            f"Network {network_id} requires a subnet in order to boot instances on."
        )
    if found.is_router_external and not found.is_shared and not call.context.is_admin:
        raise exception.Forbidden(
            f"It is not allowed to create an interface on external network {network_id}"
        )
    return found


def _check_address(network: Any, found: Any, address: str, *, alone: bool) -> None:
    """Let Neutron check an address with the user's rights, by a temporary port.

    We create the server's port with our rights, with which Neutron refuses nothing.
    """
    if not alone:
        raise exception.Invalid("Unable to launch multiple instances with a single fixed_ip.")
    try:
        with translated_errors():
            port = _probe(network, found, address)
    except exception.AddressInUse as error:
        raise exception.Invalid(f"Fixed IP {address} is already in use.") from error
    try:
        with translated_errors():
            network.delete_port(port.id, ignore_missing=True)
    except exception.Unavailable:
        LOG.warning("the temporary port %s stays until the next check of its address", port.id)
        raise


def _probe(network: Any, found: Any, address: str) -> Any:
    """Make a port with an address; it replaces one that an earlier check left behind."""
    asked = {"network_id": found.id, "fixed_ips": [{"ip_address": address}]}
    ours = {"is_admin_state_up": False, "description": CHECKED}
    try:
        with translated_errors():
            return network.create_port(**asked, **ours)
    except exception.AddressInUse:
        theirs = {"network_id": found.id, "fixed_ips": f"ip_address={address}"}
        left = [port for port in network.ports(**theirs, description=CHECKED) if not port.device_id]
        for port in left:
            network.delete_port(port.id, ignore_missing=True)
        if not left:
            raise
    return network.create_port(**asked, **ours)
