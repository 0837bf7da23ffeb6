"""Networks in the words of Compute before 2.36, when the network service was not asked itself."""

from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import network_proxies as views


class _Proxies:
    """What the network driver knows of networks, as far as the caller may see it."""

    def __init__(self, parts: Parts) -> None:
        self._proxies = parts.networking.proxies


class OsNetworks(_Proxies):
    """Handlers of ``/os-networks``."""

    def list_all(self, call: Call) -> Answer:
        admin, found = bool(call.context.is_admin), self._proxies.networks(call)
        return Answer({"networks": [views.full(one, admin=admin) for one in found]})

    def show(self, call: Call) -> Answer:
        found = self._proxies.network(call, call.params["network_id"])
        return Answer({"network": views.full(found, admin=bool(call.context.is_admin))})


class TenantNetworks(_Proxies):
    """Handlers of ``/os-tenant-networks``."""

    def list_all(self, call: Call) -> Answer:
        return Answer({"networks": [views.brief(one) for one in self._proxies.networks(call)]})

    def show(self, call: Call) -> Answer:
        found = self._proxies.network(call, call.params["network_id"])
        return Answer({"network": views.brief(found)})


class FloatingIps(_Proxies):
    """Handlers of ``/os-floating-ips`` and ``/os-floating-ip-pools``."""

    def list_all(self, call: Call) -> Answer:
        found = self._proxies.floating_ips(call)
        return Answer({"floating_ips": [views.floating_ip(one) for one in found]})

    def list_pools(self, call: Call) -> Answer:
        return Answer({"floating_ip_pools": [{"name": one} for one in self._proxies.pools(call)]})

    def show(self, call: Call) -> Answer:
        found = self._proxies.floating_ip(call, call.params["floating_ip_id"])
        return Answer({"floating_ip": views.floating_ip(found)})

    def create(self, call: Call) -> Answer:
        made = self._proxies.take(call, (call.body or {}).get("pool"))
        return Answer({"floating_ip": views.floating_ip(made)})

    def delete(self, call: Call) -> Answer:
        self._proxies.give_back(call, call.params["floating_ip_id"])
        return Answer()
