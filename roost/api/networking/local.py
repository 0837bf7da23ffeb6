"""The networks of the local driver: those of the options, and those that users made."""

from collections.abc import Sequence
from typing import Any, Self

from oslo_config import cfg

from roost import exception, networks
from roost.api import server_locality, server_networks
from roost.api.call import Call
from roost.api.local_networks import Known, LocalNetworks
from roost.api.server_security import groups_of
from roost.db.engine import Database
from roost.networks import LocalNetwork
from roost.objects import Locality, NetworkRequest


class LocalNetworking:
    """Knows them by the option that names them, and by the API database if it is given one."""

    def __init__(self, known: Sequence[LocalNetwork], database: Database | None = None) -> None:
        self._known = known
        self._local = LocalNetworks(known, database) if database else None

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        return cls(networks.parse(conf.network.local_networks))

    def requests(
        self, call: Call, asked: dict[str, Any], *, least: int, most: int
    ) -> list[NetworkRequest]:
        named = asked.get("networks")
        known = self._local.known(call, named) if self._local else Known(self._known)
        return server_networks.networks_of(asked, known, alone=most == 1)

    def security_groups(self, asked: dict[str, Any]) -> list[str]:
        return groups_of(asked)

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
