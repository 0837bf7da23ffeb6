"""Networks, for reading: what clients ask of the network service to name networks of servers."""

from roost import exception
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import networks as views


class Networks:
    """Handlers of ``/network/v2.0``."""

    def __init__(self, parts: Parts) -> None:
        self._networks = parts.networks

    def list_all(self, call: Call) -> Answer:
        names, ids = call.query.all("name"), call.query.all("id")
        found = [
            views.full(network)
            for network in self._networks
            if (not names or network.name in names) and (not ids or network.id in ids)
        ]
        return Answer({"networks": found})

    def show(self, call: Call) -> Answer:
        network_id = call.params["network_id"]
        for network in self._networks:
            if network.id == network_id:
                return Answer({"network": views.full(network)})
        raise exception.NotFound(f"Network {network_id} could not be found.")

    def extensions(self, _call: Call) -> Answer:
        """Return that there are none: clients look before they use one."""
        return Answer({"extensions": []})
