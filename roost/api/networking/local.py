"""The networks of the local driver: those of the options, and those that users made."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from oslo_config import cfg

from roost import exception, filtering, networks
from roost.api import server_locality, server_networks
from roost.api.call import Call
from roost.api.local_networks import Known, LocalNetworks
from roost.api.networking.local_groups import LocalGroups
from roost.cells.filtering import GroupCopies
from roost.db.engine import Database, Session
from roost.db.types import utcnow
from roost.networks import LocalNetwork
from roost.objects import Locality, NetworkRequest
from roost.security_groups import Group


class LocalNetworking:
    """Knows them by the option that names them, and by the API database if it is given one.

    :param quota: limits of projects that have none of their own, where there is the database
    :param filters: whether hosts let pass what security groups say, and nothing else
    :param copies: who tells them, if they do
    """

    def __init__(
        self,
        known: Sequence[LocalNetwork],
        database: Database | None = None,
        *,
        quota: Mapping[str, int] | None = None,
        now: Callable[[], datetime.datetime] = utcnow,
        filters: bool = False,
        copies: GroupCopies | None = None,
    ) -> None:
        self._known = known
        self.filters = filters
        self._local = LocalNetworks(known, database) if database else None
        self._groups = (
            LocalGroups(database, quota=quota or {}, now=now, copies=copies) if database else None
        )

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        return cls(
            networks.parse(conf.network.local_networks),
            filters=conf.network.driver in filtering.DRIVERS,
        )

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
        return server_networks.networks_of(asked, known, alone=most == 1)

    def take(
        self,
        session: Session,
        *,
        requests: Sequence[NetworkRequest],
        groups: Sequence[Group],
        uuids: Sequence[str],
    ) -> None:
        server_networks.take(session, requests, uuids)
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
        (request,) = server_networks.networks_of({"networks": [wanted]}, known, alone=True)
        return request

    def locality(self, requests: Sequence[NetworkRequest]) -> list[Locality]:
        return server_locality.locality_of(requests, self._known)

    def _first(self) -> LocalNetwork:
        if not self._known:
            raise exception.Invalid("No networks defined: there is none to attach.")
        return self._known[0]
