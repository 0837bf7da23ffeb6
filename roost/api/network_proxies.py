"""Networks in the words of Compute before 2.36, when the network service was not asked itself."""

from roost import exception
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import network_proxies as views
from roost.networks import LocalNetwork


class _Networks:
    """The networks of the local driver, which all projects share."""

    def __init__(self, parts: Parts) -> None:
        self._networks = parts.networks

    def _find(self, call: Call) -> LocalNetwork:
        for network in self._networks:
            if network.id == call.params["network_id"]:
                return network
        raise exception.NotFound("Network not found")


class OsNetworks(_Networks):
    """Handlers of ``/os-networks``."""

    def list_all(self, call: Call) -> Answer:
        admin = bool(call.context.is_admin)
        return Answer({"networks": [views.full(one, admin=admin) for one in self._networks]})

    def show(self, call: Call) -> Answer:
        return Answer({"network": views.full(self._find(call), admin=bool(call.context.is_admin))})


class TenantNetworks(_Networks):
    """Handlers of ``/os-tenant-networks``."""

    def list_all(self, _call: Call) -> Answer:
        return Answer({"networks": [views.brief(one) for one in self._networks]})

    def show(self, call: Call) -> Answer:
        return Answer({"network": views.brief(self._find(call))})


class FloatingIps:
    """Handlers of ``/os-floating-ips`` and ``/os-floating-ip-pools``: local networks have none."""

    def __init__(self, _parts: Parts) -> None:
        pass

    def list_all(self, _call: Call) -> Answer:
        return Answer({"floating_ips": []})

    def list_pools(self, _call: Call) -> Answer:
        return Answer({"floating_ip_pools": []})

    def refuse(self, call: Call) -> Answer:
        """Find no address, whatever is to be done with it."""
        raise exception.NotFound(f"Floating IP not found for ID {call.params['floating_ip_id']}")

    def create(self, _call: Call) -> Answer:
        raise exception.NotFound("Floating IP pool not found.")
