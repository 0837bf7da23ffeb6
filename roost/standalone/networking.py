"""The networking driver of deployments without Neutron: networks of options, and users' own.

``LocalPorts`` counts what attached interfaces take of the quota of their server's project.
"""

import contextlib
import copy
import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from oslo_config import cfg

from roost import exception, networks, security_groups
from roost.api.networking.driver import new_ports
from roost.api.request import Call
from roost.db.api import instance_mappings, ports
from roost.db.engine import Database, Session, retried
from roost.networks import LocalNetwork
from roost.objects import Instance, Locality, NetworkRequest
from roost.rpc.super_conductor import SuperConductor
from roost.security_groups import Group
from roost.standalone import network_schemas, requested_networks
from roost.standalone.known_networks import Known, LocalNetworks, require_choice
from roost.standalone.networking_groups import LocalGroups
from roost.standalone.networking_proxies import LocalProxies


class LocalPorts:
    """Counts the ports of attached interfaces; those that users made count of themselves.

    :param quota: limits of projects that have none of their own
    """

    def __init__(self, database: Database, *, quota: Mapping[str, int]) -> None:
        self._database = database
        self._quota = quota

    @retried
    def attach(self, instance: Instance, port_id: str) -> None:
        """Note that a server is to have one more port.

        :raises roost.exception.QuotaExceeded: when its project may not have more
        :raises roost.exception.NotFound: when it is gone
        """
        with self._database.begin() as session:
            instance_mappings.hold(session, instance.uuid)
            ports.check(session, instance.project_id, self._quota, ports=1)
            ports.attach(session, instance.project_id, instance.uuid, port_id)

    @retried
    def detach(self, instance: Instance, port_id: str) -> None:
        """Note that a server has a port no more; one that its user made counts as before."""
        with self._database.begin() as session, contextlib.suppress(exception.NotFound):
            instance_mappings.hold(session, instance.uuid)
            if ports.find(session, port_id) is None:
                ports.detach(session, instance.project_id, instance.uuid, port_id)


class LocalNetworking:
    """Knows them by the option that names them, and by the API database once it has been given one.

    :param filters: whether hosts let pass what security groups say, and nothing else
    """

    external = False

    def __init__(self, known: Sequence[LocalNetwork], *, filters: bool = False) -> None:
        self._known = known
        self.filters = filters
        self._local: LocalNetworks | None = None
        self._groups: LocalGroups | None = None
        self._ports: LocalPorts | None = None

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        return cls(
            networks.parse(conf.network.local_networks),
            filters=conf.network.driver in security_groups.DRIVERS,
        )

    def with_database(
        self,
        database: Database,
        *,
        quota: Mapping[str, int],
        now: Callable[[], datetime.datetime],
        super_conductor: SuperConductor,
    ) -> Self:
        """Return the same, which also knows what users made, in the API database.

        :param quota: limits of projects that have none of their own
        :param super_conductor: hears of changes of security groups, if hosts filter by them
        """
        made = copy.copy(self)
        told = super_conductor if self.filters else None
        groups = LocalGroups(database, quota=quota, now=now, super_conductor=told)
        made._local = LocalNetworks(self._known, database)  # noqa: SLF001 - our own copy
        made._groups = groups  # noqa: SLF001
        made._ports = LocalPorts(database, quota=quota)  # noqa: SLF001
        return made

    @property
    def proxies(self) -> LocalProxies:
        return LocalProxies(self._known)

    @property
    def groups(self) -> LocalGroups:
        if self._groups is None:
            raise exception.Internal("Local security groups need the API database.")
        return self._groups

    def requests(
        self,
        call: Call,
        asked: dict[str, Any],
        *,
        groups: Sequence[Group],
        least: int,
        most: int,
    ) -> list[NetworkRequest]:
        named = asked.get("networks")
        known = self._local.known(call, named) if self._local else Known(self._known)
        found = requested_networks.networks_of(asked, known, alone=most == 1)
        _check_choices(call, found, known)
        return found

    @property
    def ports(self) -> LocalPorts:
        if self._ports is None:
            raise exception.Internal("Local ports need the API database.")
        return self._ports

    def room(
        self,
        session: Session,
        *,
        project_id: str,
        requests: Sequence[NetworkRequest],
        most: int,
        limit: int,
    ) -> int:
        each = new_ports(requests)
        if not each:
            return most
        room = ports.port_room(session, project_id, limit=limit, most=each * most)
        return room // each

    def take(
        self,
        session: Session,
        *,
        project_id: str,
        requests: Sequence[NetworkRequest],
        groups: Sequence[Group],
        uuids: Sequence[str],
    ) -> None:
        requested_networks.take(session, requests, uuids)
        each = new_ports(requests)
        ports.boot(session, project_id, uuids, each=each)
        self.groups.take(session, groups, uuids)

    def attachment(self, call: Call, asked: dict[str, Any]) -> NetworkRequest:
        if "port_id" in asked:
            raise exception.NotFound(f"Port id {asked['port_id']} could not be found.")
        wanted: dict[str, Any] = {"tag": asked.get("tag")}
        if "fixed_ips" in asked:
            wanted["fixed_ip"] = asked["fixed_ips"][0]["ip_address"]
        wanted["uuid"] = asked.get("net_id") or self._first().id
        if wanted["uuid"] not in {network.id for network in self._known}:
            raise exception.NotFound(f"Network {wanted['uuid']} could not be found.")
        known = Known(self._known)
        (request,) = requested_networks.networks_of({"networks": [wanted]}, known, alone=True)
        _check_choices(call, [request], known)
        return request

    def attach(self, instance: Instance, port_id: str) -> None:
        self.ports.attach(instance, port_id)

    def detach(self, instance: Instance, port_id: str) -> None:
        self.ports.detach(instance, port_id)

    def locality(self, requests: Sequence[NetworkRequest]) -> list[Locality]:
        return requested_networks.locality_of(requests, self._known)

    def _first(self) -> LocalNetwork:
        if not self._known:
            raise exception.Invalid("No networks defined: there is none to attach.")
        return self._known[0]


def _check_choices(call: Call, requests: Sequence[NetworkRequest], known: Known) -> None:
    """Raise :class:`roost.exception.Forbidden` for an address that the caller may not choose."""
    for request in requests:
        if request.fixed_ip and request.port_id is None:
            network = known.network(str(request.network_id))
            require_choice(call, network_schemas.CHOOSE_ADDRESS_POLICY, network)
