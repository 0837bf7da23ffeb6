"""The networking driver without Neutron: networks of the options, and those of users."""

import copy
import datetime
from collections.abc import Callable, Sequence
from typing import Any, Self

from oslo_config import cfg

from roost import exception, networks, security_groups
from roost.api.request import Call
from roost.cells import Cells
from roost.db.api import networks as rows
from roost.db.api import ports
from roost.db.engine import Database, Session
from roost.networks import LocalNetwork
from roost.objects import Instance, Locality, NetworkRequest
from roost.rpc.super_conductor import SuperConductor
from roost.security_groups import Group
from roost.standalone import network_schemas, requested_networks
from roost.standalone.departed_servers import DepartedServers
from roost.standalone.known_networks import Known, LocalNetworks, require_choice
from roost.standalone.networking_groups import LocalGroups
from roost.standalone.networking_proxies import LocalProxies


class LocalNetworking:
    """Networks of the options and, with a database, those that users created.

    :param filters: whether hosts filter traffic by security groups
    """

    external = False

    def __init__(self, known: Sequence[LocalNetwork], *, filters: bool = False) -> None:
        self._known = known
        self.filters = filters
        self._local: LocalNetworks | None = None
        self._groups: LocalGroups | None = None

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        return cls(
            networks.parse(conf.network.local_networks),
            filters=conf.network.driver in security_groups.DRIVERS,
        )

    def with_database(
        self,
        database: Database,
        cells: Cells,
        *,
        now: Callable[[], datetime.datetime],
        super_conductor: SuperConductor,
    ) -> Self:
        """Return the same, with the networks, ports and groups of users in the API database.

        :param super_conductor: gets changes of security groups, if hosts filter by them
        """
        made = copy.copy(self)
        notified = super_conductor if self.filters else None
        departed = DepartedServers(database, cells)
        groups = LocalGroups(database, departed, now=now, super_conductor=notified)
        made._local = LocalNetworks(self._known, database, departed)  # noqa: SLF001 - our own copy
        made._groups = groups  # noqa: SLF001
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

    def take(
        self,
        session: Session,
        *,
        requests: Sequence[NetworkRequest],
        groups: Sequence[Group],
        uuids: Sequence[str],
    ) -> None:
        requested_networks.take(session, requests, uuids)
        self.groups.take(session, groups, uuids)

    def attachment(
        self, call: Call, asked: dict[str, Any], *, instance: Instance
    ) -> NetworkRequest:
        wanted: dict[str, Any] = {"tag": asked.get("tag"), "port": asked.get("port_id")}
        if "fixed_ips" in asked:
            wanted["fixed_ip"] = asked["fixed_ips"][0]["ip_address"]
        if wanted["port"] is None:
            wanted["uuid"] = asked.get("net_id") or self._first().id
        if self._local is None:
            raise exception.Internal("Local networks need the API database.")
        known = self._local.known(call, [wanted], missing=exception.NotFound)
        (request,) = requested_networks.networks_of(
            {"networks": [wanted]}, known, alone=True, instance_uuid=instance.uuid
        )
        _check_choices(call, [request], known)
        return request

    def give_back(
        self, session: Session, instance_uuid: str, *, port_id: str | None, network_id: str | None
    ) -> None:
        if port_id is not None:
            ports.give_back(session, port_id, instance_uuid)
        if network_id is not None:
            rows.leave(session, network_id, instance_uuid)

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
