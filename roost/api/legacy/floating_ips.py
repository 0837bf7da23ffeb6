"""Fixed and floating addresses of servers in the words of Compute before 2.44.

What can be done is done by the network service, as the user who asks; the host then looks how the
ports are by now.
"""

import logging
from collections.abc import Callable, Mapping

from roost import exception
from roost.api.dependencies import Parts
from roost.api.locator import Located
from roost.api.request import Answer, Call
from roost.objects import ExternalEvent, network

LOG = logging.getLogger(__name__)


class ServerAddresses:
    """Actions on servers."""

    def __init__(self, parts: Parts) -> None:
        self._proxies = parts.networking.proxies

    @property
    def actions(self) -> Mapping[str, Callable[[Call, Located], Answer]]:
        return {
            "addFixedIp": self._add_fixed,
            "removeFixedIp": self._remove_fixed,
            "addFloatingIp": self._add_floating,
            "removeFloatingIp": self._remove_floating,
        }

    def _add_fixed(self, call: Call, located: Located) -> Answer:
        network_id = call.body["addFixedIp"]["networkId"]
        self._proxies.add_fixed(call, located.instance, network_id)
        return _changed(call, located)

    def _remove_fixed(self, call: Call, located: Located) -> Answer:
        address = call.body["removeFixedIp"]["address"]
        self._proxies.remove_fixed(call, located.instance, address)
        return _changed(call, located)

    def _add_floating(self, call: Call, located: Located) -> Answer:
        asked = call.body["addFloatingIp"]
        fixed = asked.get("fixed_address")
        self._proxies.associate(call, located.instance, asked["address"], fixed_address=fixed)
        return _changed(call, located)

    def _remove_floating(self, call: Call, located: Located) -> Answer:
        address = call.body["removeFloatingIp"]["address"]
        self._proxies.dissociate(call, located.instance, address)
        return _changed(call, located)


def _changed(call: Call, located: Located) -> Answer:
    """Let the host of a server look at its ports; that is a hint, and Neutron sends it, too."""
    instance, cell = located.instance, located.cell
    if cell is not None and instance.host is not None:
        event = ExternalEvent.of(
            name=network.NETWORK_CHANGED,
            instance_uuid=instance.uuid,
            status=network.COMPLETED,
            tag=None,
        )
        try:
            cell.compute.on(instance.host).external_instance_events(call.context, events=[event])
        except exception.Unavailable as error:
            LOG.warning("host %s was not told of new addresses: %s", instance.host, error.message)
    return Answer()
