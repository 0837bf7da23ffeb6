"""The networks and ports that a caller may use: those of the options and those of users."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.request import Call
from roost.db.api import networks, ports
from roost.db.api.networks import Network
from roost.db.api.ports import MadePort
from roost.db.engine import Database
from roost.networks import LocalNetwork
from roost.standalone.departed_servers import DepartedServers


@dataclasses.dataclass(frozen=True)
class Known:
    """The networks (the default one first) and ports that a request for servers may name."""

    networks: Sequence[LocalNetwork]
    ports: Mapping[str, MadePort] = dataclasses.field(default_factory=dict)

    def network(self, network_id: str) -> LocalNetwork:
        """Return a network.

        :raises roost.exception.Invalid: when there is none
        """
        for network in self.networks:
            if network.id == network_id:
                return network
        raise exception.Invalid(f"Network {network_id} could not be found.")


class LocalNetworks:
    """Looks networks and ports up for callers."""

    def __init__(
        self, configured: Sequence[LocalNetwork], database: Database, departed: DepartedServers
    ) -> None:
        self._database = database
        self._departed = departed
        self.configured = configured

    @classmethod
    def of(cls, dependencies: Dependencies) -> Self:
        database = dependencies.api_database
        return cls(dependencies.networks, database, DepartedServers(database, dependencies.cells))

    def made(self, call: Call) -> list[Network]:
        """Return the networks that users created and the caller may see."""
        return self._database.query(networks.list_seen, call.visible_project)

    def find(self, call: Call, network_id: str) -> LocalNetwork | Network:
        """Return one network.

        :raises roost.exception.NotFound: when there is none that the caller may see
        """
        for network in self.configured:
            if network.id == network_id:
                return network
        made = self._database.query(networks.find, network_id)
        if made is not None and may_see(call, made):
            return made
        raise exception.NotFound(f"Network {network_id} could not be found.")

    def known(
        self,
        call: Call,
        asked: Any,
        *,
        missing: type[exception.RoostError] = exception.Invalid,
    ) -> Known:
        """Return the networks and ports of the requested interfaces, and the configured networks.

        :param missing: the exception for a network or a port that the caller may not see
        :raises roost.exception.Invalid: for a network without addresses
        """
        nics = asked if isinstance(asked, list) else []
        named = [nic["port"] for nic in nics if nic.get("port")]
        ports = {port_id: self._port(call, port_id, missing) for port_id in named}
        ids = {str(nic.get("uuid")) for nic in nics if not nic.get("port") and nic.get("uuid")}
        ids |= {port.network_id for port in ports.values()}
        unknown = sorted(ids - {network.id for network in self.configured})
        return Known(
            [*self.configured, *(self._made(call, one, missing) for one in unknown)], ports
        )

    def forget_departed(self, network_id: str) -> None:
        """Remove deleted servers from a network."""
        uuids = self._database.query(networks.users, network_id)
        self._departed.forget(uuids)

    def free_port(self, port: MadePort) -> MadePort:
        """Return a port, without its server if that is deleted."""
        if port.instance_uuid is None or not self._departed.forget([port.instance_uuid]):
            return port
        return dataclasses.replace(port, instance_uuid=None)

    def _made(
        self, call: Call, network_id: str, missing: type[exception.RoostError]
    ) -> LocalNetwork:
        try:
            found = self.find(call, network_id)
        except exception.NotFound as error:
            raise missing(error.message) from error
        if isinstance(found, Network):
            return usable(found)
        return found

    def _port(self, call: Call, port_id: str, missing: type[exception.RoostError]) -> MadePort:
        port = self._database.query(ports.find, port_id)
        if port is None or not may_see(call, port):
            raise missing(f"Port id {port_id} could not be found.")
        return self.free_port(port)


def usable(network: Network) -> LocalNetwork:
    """Return a user's network in the form of a configured one.

    :raises roost.exception.Invalid: when it has no subnet
    """
    if network.cidr is None:
        raise exception.Invalid(
            f"Network {network.id} requires a subnet in order to boot instances on."
        )
    return LocalNetwork(
        name=network.name,
        cidr=network.cidr,
        given_id=network.id,
        project_id=network.project_id,
    )


def require_choice(call: Call, rule: str, network: LocalNetwork) -> None:
    """Make sure that the caller may choose addresses of ports in a network.

    :param rule: for this choice; checked with the project that owns the network
    :raises roost.exception.Forbidden: when the policy does not allow it
    """
    if not call.allows(rule, project_id=network.project_id or ""):
        raise exception.Forbidden(
            f"Policy doesn't allow {rule} to be performed on network {network.id}: leave that out,"
            " and one is chosen for you."
        )


def may_see(call: Call, thing: Network | MadePort) -> bool:
    shared = isinstance(thing, Network) and thing.shared
    return shared or call.visible_project in (None, thing.project_id)
