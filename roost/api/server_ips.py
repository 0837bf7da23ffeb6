"""The addresses of a server, by network."""

from typing import Any

from roost import exception
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views.servers import plain_addresses
from roost.api.whereabouts import Whereabouts


class ServerIps:
    """Handlers of ``/servers/{id}/ips``."""

    def __init__(self, parts: Parts) -> None:
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)

    def list_all(self, call: Call) -> Answer:
        return Answer({"addresses": self._addresses(call)})

    def show(self, call: Call) -> Answer:
        network = call.params["network_label"]
        found = self._addresses(call)
        if network not in found:
            raise exception.NotFound("Instance is not a member of specified network")
        return Answer({network: found[network]})

    def _addresses(self, call: Call) -> dict[str, list[dict[str, Any]]]:
        info = self._whereabouts.find(call, call.params["server_id"]).instance.network_info
        return plain_addresses(info.vifs if info else [])
